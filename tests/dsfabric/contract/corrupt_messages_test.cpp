// SPDX-License-Identifier: MIT
// A process breaks the protocol of messages: it has failed, and nobody else.
#include <string>

#include "dsfabric/support/fork_job.hpp"
#include "dsfabric/support/killed_job.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::ForkJob;
using support::Member;
using support::require;

TEST_CASE("corrupt_messages_fail_their_sender_only") {
  const int kind = GENERATE(0, 1, 2, 3, 4, 5);
  CAPTURE(kind);
  ForkJob job(3, [kind](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    fabric.run([&](Thread& self) {
      // Not by a barrier: who is still in one when process 1 fails is right to throw.
      support::meet(member, self);
      if (member.rank == 1) {
        MessageHeader header{2, 0, 0, self.id(), 0, kMessageMark};
        switch (kind) {
          case 0:
            header.mark = 0;
            break;
          case 1:
            header.bytes = 1000;
            break;
          case 2:
            header.kind = 99;
            break;
          case 3:
            header.destination = 7;
            break;
          case 4:
            header.source = {{2}, 0};
            break;
          default:
            header.kind = 5;  // nobody has a message handler for it
        }
        require(self.transmitter({0}).send({&header, sizeof header, 0}, dtutils::kInlined), "sent");
      }
      if (member.rank == 0) {
        require(support::eventually([&] {
                  self.progress();
                  return fabric.failed({1});
                }),
                "the sender failed");
        constexpr const char* kReasons[] = {"no header",           "its length",
                                            "its kind is unknown", "for a thread",
                                            "another process",     "invalid message"};
        const std::string reason = fabric.failure_reason({1});
        require(reason.find(kReasons[kind]) != std::string::npos, reason);
        require(!fabric.failed({2}), "nobody else did");
      } else {
        require(support::eventually([&] {
                  self.progress();
                  return member.memory.words[2] == 1;
                }),
                "process 0 is done");
      }
      member.memory.words[2] = 1;
    });
  });
  CHECK(job.wait() == "");
}
