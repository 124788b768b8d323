// SPDX-License-Identifier: MIT
// Calls that cannot be: unknown threads, corrupt records, destinations that are gone.
#include <chrono>
#include <cstring>
#include <thread>

#include "dsfabric/support/call_job.hpp"
#include "dsfabric/support/serve_until.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::error_text;
using support::ForkJob;
using support::has;
using support::in_every_mode;
using support::Member;
using support::require;
using support::require_equal;
using support::serve_until;

TEST_CASE("unknown_thread_is_refused_at_the_sender") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    for (const ThreadId to : {ThreadId{{0}, 7}, ThreadId{{9}, 0}, ThreadId::service_of({9})}) {
      has(error_text([&] { (void)calls.call(to, [] {}); }), "no such");
      // The slot is free for another call.
      ReturnSlot<int> slot(self.fabric());
      has(error_text([&] {
            (void)calls.call_return(
                to, [] { return 1; }, slot);
          }),
          "no such");
      require(calls.call_return(
                  self.neighbour(1), [] { return 2; }, slot),
              "sent");
      require_equal(slot.get(), 2, "result");
    }
    self.barrier();
  });
}

TEST_CASE("corrupt_record_fails_its_sender_and_nobody_else") {
  ForkJob job(3, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    try {
      fabric.run([&](Thread& self) {
        if (member.rank == 2) {
          SendSpace space(fabric, ProcessId{0}, 64);
          require(static_cast<bool>(space), "there is space");
          const RecordHeader header{FunctionTable::instance().size() + 5, 8};
          std::memset(space.payload(), 0, 64);
          std::memcpy(space.payload(), &header, sizeof header);
          require(space.commit(MessageKind::kCall, ThreadId{{0}, 0}), "sent");
          serve_until(self, [] { return false; });
        } else if (member.rank == 0) {
          serve_until(self, [&] { return fabric.failed(ProcessId{2}); });
          has(fabric.failure_reason(ProcessId{2}), "cannot be right");
          // The other one is well.
          SendChannel calls(fabric);
          ReturnSlot<int> slot(fabric);
          require(calls.call_return(
                      ThreadId{{1}, 0}, [] { return 4; }, slot),
                  "sent");
          require_equal(slot.get(), 4, "result");
          require(!calls.call_return(
                      ThreadId{{2}, 0}, [] { return 4; }, slot),
                  "refused");
          has(error_text([&] { slot.get(); }), "is gone");
          member.memory.words[0] = 1;
        } else {
          serve_until(self, [&] { return member.memory.words[0] == 1; });
        }
      });
    } catch (const PeerFailed&) {
    }
    if (member.rank == 0) require(member.memory.words[0] == 1, "rank 0 got through");
  });
  dtutils::Deadline deadline(std::chrono::seconds(20));
  while (job.memory().words[0] != 1 && !deadline.passed()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(job.memory().words[0] == 1);
  job.kill(2);
  job.wait();
}

TEST_CASE("killed_destination_ends_every_wait_for_it") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    try {
      fabric.run([&](Thread& self) {
        if (member.rank == 1) {
          member.memory.words[0] = 1;
          for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));  // serves nothing
        }
        serve_until(self, [&] { return member.memory.words[0] == 1; });
        SendChannel calls(fabric);
        ReturnSlot<int> slot(fabric);
        require(calls.call_return(
                    ThreadId{{1}, 0}, [] { return 1; }, slot),
                "sent");
        member.memory.words[1] = 1;
        has(error_text([&] { slot.get(); }), "is gone");
        dtutils::Synchronizer sent(1);
        require(!calls.call(
                    ThreadId{{1}, 0}, [] {}, &sent),
                "refused");
        require(sent.wait() == dtutils::Synchronizer::Outcome::kFailed, "and said so");
        member.memory.words[2] = 1;
      });
    } catch (const PeerFailed&) {
    }
  });
  while (job.memory().words[1] != 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  job.kill(1);
  const auto begin = std::chrono::steady_clock::now();
  while (job.memory().words[2] != 1 &&
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(job.memory().words[2] == 1);
  job.wait();
}
