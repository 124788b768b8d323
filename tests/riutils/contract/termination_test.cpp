// SPDX-License-Identifier: MIT
// wait_for_termination: trees of calls that nobody waits for, over every channel and all of them.
#include "riutils/termination.hpp"

#include <cstdlib>

#include "dsfabric/support/killed_job.hpp"
#include "riutils/support/call_trees.hpp"
#include "support/per_process.hpp"

using namespace dsfabric;
using riutils::FiberPool;
using namespace support;

namespace {

void grow(const Trees& trees) {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  // The suite runs on the device as it is, and under the adversary.
  const char* const adversary = std::getenv("CARIAMA_SHM_ADVERSARY");
  CHECK(grow_trees(trees, seed, adversary != nullptr ? std::strtoull(adversary, nullptr, 10) : 0) ==
        "");
}

}  // namespace

TEST_CASE("termination_without_calls_returns") { grow({2, 2, kSends, 0}); }
TEST_CASE("termination_of_calls_by_messages") { grow({3, 1, kSends, 40}); }
TEST_CASE("termination_of_calls_by_rings") { grow({2, 2, kMessenger, 100}); }
TEST_CASE("termination_sends_what_was_gathered") { grow({2, 2, kAggregator, 200}); }
TEST_CASE("termination_waits_for_fibers") { grow({2, 1, kMessenger | kFibers, 50}); }
TEST_CASE("termination_waits_for_calls_that_are_fibers_by_default") {
  grow({2, 2, kMessenger | kAggregator | kFibersByDefault, 50});
}
TEST_CASE("termination_of_everything_at_once") { grow({3, 2, kAll, 60}); }

TEST_CASE("termination_waits_for_a_fiber_that_no_call_will_resume") {
  ForkJob job(2, [&](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    static support::PerProcess<std::atomic<std::uint64_t>> ended;
    fabric.run([&](Thread& self) {
      const FiberPool fibers(self);
      riutils::RDMAMessengerGlobal messenger(self);
      self.barrier();
      const auto sent = messenger.call(self.neighbour(1), riutils::in_fiber([] {
                                         dtutils::Synchronizer never(1);
                                         never.wait_for(std::chrono::milliseconds(50));
                                         ++*ended;
                                       }));
      require(sent, "sent");
      riutils::wait_for_termination(self);
      require_equal(ended->load(), 1u, "fibers that have ended here");
      self.barrier();
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("termination_of_a_group_counts_its_own_calls_by_rings") {
  ForkJob job(4, [&](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    static support::PerProcess<std::atomic<std::uint64_t>> ran;
    static support::PerProcess<std::atomic<std::uint64_t>> strangers;
    fabric.run([&](Thread& self) {
      const FiberPool fibers(self);
      Own mine(self);
      own() = &mine;
      const auto pair = static_cast<std::uint16_t>(self.id().process.value / 2 * 2);
      Group group(self, {{{pair}, 0}, {{static_cast<std::uint16_t>(pair + 1)}, 0}});
      self.barrier();
      // Calls of the other pair come and go all the while, and count for nobody here.
      const ThreadId stranger{{static_cast<std::uint16_t>((self.id().process.value + 2) % 4)}, 0};
      for (std::uint64_t round = 1; round <= 5; ++round) {
        for (int i = 0; i < 20; ++i) {
          require(mine.messenger.call(stranger, [] { ++*strangers; }), "sent");
        }
        const ThreadId partner = group.member(1 - group.rank());
        require(mine.messenger.call(partner, riutils::in_fiber([](CallContext& call) {
                                      dtutils::Synchronizer never(1);
                                      never.wait_for(std::chrono::milliseconds(5));
                                      (void)own()->messenger.call(call.source, [] { ++*ran; });
                                    })),
                "sent");
        wait_for_termination(group);
        require_equal(ran->load(), round, "answers");
        group.barrier();
      }
      riutils::wait_for_termination(self);
      require_equal(strangers->load(), 100u, "calls of the other pair");
      self.barrier();
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("termination_counts_broadcasts_and_services") {
  ForkJob job(3, [&](Member& member) {
    Config config;
    config.threads = 2;
    Fabric fabric = member.join(config);
    static support::PerProcess<std::atomic<std::uint64_t>> ran;
    fabric.run([&](Thread& self) {
      Own mine(self);
      own() = &mine;
      self.barrier();
      require(mine.messenger.broadcast([] { ++*ran; }), "sent");
      const ThreadId next = self.neighbour(1);
      require(mine.sends.call(ThreadId::service_of(next.process),
                              [next](CallContext& call) {
                                SendChannel calls(call.fabric);
                                require(calls.call(next, [] { ++*ran; }), "sent");
                              }),
              "sent");
      riutils::wait_for_termination(self);
      // Six broadcasts at two workers, and one call at each of them.
      require_equal(ran->load(), 6u * 2 + 2, "calls executed here");
      self.barrier();
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("termination_ends_with_peer_failed_when_a_process_dies") {
  const std::string ends = run_and_kill(3, 2, [](Member& member, Thread& self) {
    const FiberPool fibers(self);
    Own mine(self);
    own() = &mine;
    meet(member, self);
    if (member.rank == 2) serve_nothing();
    require(mine.messenger.call({{2}, 0}, [] {}), "sent");
    // When both survivors have sent it theirs.
    if (++member.memory.words[0] == 2) end_victim(member.memory);
    bool thrown = false;
    try {
      riutils::wait_for_termination(self);
    } catch (const PeerFailed&) {
      thrown = true;
    }
    require(thrown, "the collective ends with PeerFailed");
  });
  CHECK(ends == "2: signal 9\n");
}
