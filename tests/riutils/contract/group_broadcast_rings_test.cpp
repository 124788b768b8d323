// SPDX-License-Identifier: MIT
// Broadcasts over a group go through rings of its members.
#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "dsfabric/support/fork_job.hpp"
#include "riutils/rdma_messenger_global.hpp"
#include "support/catch.hpp"
#include "support/per_process.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using riutils::RDMAMessengerGlobal;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;

TEST_CASE("broadcasts_over_a_group_go_through_rings_of_its_members") {
  ForkJob job(3, [](Member& member) {
    dsfabric::Config config;
    config.threads = 2;
    Fabric fabric = member.join(config);
    static support::PerProcess<std::array<std::atomic<std::uint64_t>, 2>> ran;
    fabric.run([&](Thread& self) {
      RDMAMessengerGlobal messenger(self);
      std::vector<ThreadId> members;
      for (const std::uint32_t rank : {4u, 1u, 3u, 0u}) {
        members.push_back(fabric.thread_of_rank(rank));
      }
      const bool is_in = std::ranges::count(members, self.id()) != 0;
      if (is_in) {
        const dsfabric::Group group(self, members);
        dsfabric::ExecutionSlots executed(fabric);
        for (int i = 0; i < 50; ++i) {
          const auto sent = messenger.broadcast(
              group, [](CallContext& call) { ++(*ran)[call.worker->id().index]; }, &executed);
          require(sent == dsfabric::CallStatus::kAccepted, "sent");
          require(executed.wait().empty(), "all have run it");
        }
        self.barrier();
        require_equal((*ran)[self.id().index].load(), 200u, "broadcasts of all four");
      } else {
        self.barrier();
        require_equal((*ran)[self.id().index].load(), 0u, "broadcasts to others");
      }
      self.barrier();
    });
  });
  CHECK(job.wait() == "");
}
