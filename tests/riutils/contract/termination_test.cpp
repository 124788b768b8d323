// SPDX-License-Identifier: MIT
// wait_for_termination: trees of calls that nobody waits for, over every channel and all of them.
#include "riutils/termination.hpp"

#include <memory>
#include <string>

#include "dsfabric/support/fork_job.hpp"
#include "dtutils/wait.hpp"
#include "riutils/in_fiber.hpp"
#include "riutils/rdma_aggregator.hpp"
#include "riutils/rdma_messenger_global.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using riutils::FiberPool;
using riutils::in_fiber;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;

namespace {

/// How calls travel: the bits of a tree's `ways`.
enum Way : std::uint32_t { kSends = 1, kMessenger = 2, kAggregator = 4, kFibers = 8, kAll = 15 };

/// What a worker and its handlers have.
struct Own {
  explicit Own(Thread& self)
      : sends(self.fabric()),
        messenger(self, {.ring = {2048, 2, 4, 64 << 10}}),
        aggregator(self, {.max_age = std::chrono::microseconds(1'000'000)}) {}

  SendChannel sends;
  riutils::RDMAMessengerGlobal messenger;
  riutils::RDMAAggregator aggregator;
  std::uint64_t made = 0;
  std::uint64_t ran = 0;
  support::Random random{1};
};

Own*& own() {
  thread_local Own* mine = nullptr;
  return mine;
}

/// A call that makes calls, down to depth 0, and waits a little where it is a fiber.
struct Grow {
  std::uint32_t depth;
  std::uint32_t ways;

  void operator()(CallContext& call) const {
    Own& mine = *own();
    if (FiberPool::inside()) {
      for (std::size_t steps = mine.random.below(4); steps > 0; --steps) FiberPool::wait_step();
      if (mine.random.one_in(8)) {
        ReturnSlot<int> slot(call.fabric);
        ++own()->made;
        require(mine.messenger.call_return(
                    call.source, [] { return int(++own()->ran); }, slot),
                "sent");
        (void)slot.get();
      }
    }
    if (depth > 0) {
      for (std::size_t calls = mine.random.below(3); calls > 0; --calls) {
        spread(call.fabric, depth - 1);
      }
    }
    ++mine.ran;
  }

  void spread(Fabric& fabric, std::uint32_t its_depth) const {
    Own& mine = *own();
    const ThreadId to =
        fabric.thread_of_rank(std::uint32_t(mine.random.below(fabric.total_threads())));
    const Grow next{its_depth, ways};
    ++mine.made;
    std::uint32_t way = 0;
    do {
      way = 1u << mine.random.below(3);
    } while ((ways & way) == 0);
    const bool fiber = (ways & kFibers) != 0 && mine.random.one_in(2);
    const auto make = [&](auto& channel) {
      return fiber ? channel.call(to, in_fiber(next)) : channel.call(to, next);
    };
    require(way == kSends       ? make(mine.sends)
            : way == kMessenger ? make(mine.messenger)
                                : make(mine.aggregator),
            "sent");
  }
};

void grow_trees(std::uint32_t processes, std::uint32_t threads, std::uint32_t ways,
                std::uint32_t roots) {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  ForkJob job(processes, [&](Member& member) {
    Config config;
    config.threads = threads;
    Fabric fabric = member.join(config);
    fabric.run([&](Thread& self) {
      const FiberPool fibers(self);
      Own mine(self);
      mine.random = support::Random(seed * 31 + fabric.rank_of(self.id()));
      own() = &mine;
      self.barrier();
      for (std::uint32_t round = 0; round < 5; ++round) {
        const auto depth = std::uint32_t(mine.random.below(14));
        const auto count = mine.random.below(roots + 1);
        for (std::size_t i = 0; i < count; ++i) Grow{0, ways}.spread(fabric, depth);
        riutils::wait_for_termination(self);
        const std::uint64_t made = mine.made;
        const std::uint64_t ran = mine.ran;
        // It serves: what was still on its way would run now.
        self.barrier();
        require_equal(mine.made, made, "calls made, after the end,");
        require_equal(mine.ran, ran, "calls executed, after the end,");
        require_equal(self.all_reduce(ran), self.all_reduce(made),
                      "executed calls in round " + std::to_string(round));
      }
      self.barrier();
    });
  });
  CHECK(job.wait(std::chrono::seconds(50)) == "");
}

}  // namespace

TEST_CASE("termination_without_calls_returns") { grow_trees(2, 2, kSends, 0); }
TEST_CASE("termination_of_calls_by_messages") { grow_trees(3, 1, kSends, 40); }
TEST_CASE("termination_of_calls_by_rings") { grow_trees(2, 2, kMessenger, 100); }
TEST_CASE("termination_sends_what_was_gathered") { grow_trees(2, 2, kAggregator, 200); }
TEST_CASE("termination_waits_for_fibers") { grow_trees(2, 1, kMessenger | kFibers, 50); }
TEST_CASE("termination_of_everything_at_once") { grow_trees(3, 2, kAll, 60); }

TEST_CASE("termination_counts_broadcasts_and_services") {
  ForkJob job(3, [&](Member& member) {
    Config config;
    config.threads = 2;
    Fabric fabric = member.join(config);
    static std::atomic<std::uint64_t> ran{0};
    fabric.run([&](Thread& self) {
      Own mine(self);
      own() = &mine;
      self.barrier();
      require(mine.messenger.broadcast([] { ++ran; }), "sent");
      const ThreadId next = self.neighbour(1);
      require(mine.sends.call(ThreadId::service_of(next.process),
                              [next](CallContext& call) {
                                SendChannel calls(call.fabric);
                                require(calls.call(next, [] { ++ran; }), "sent");
                              }),
              "sent");
      riutils::wait_for_termination(self);
      // Six broadcasts at two workers, and one call at each of them.
      require_equal(ran.load(), 6u * 2 + 2, "calls executed here");
      self.barrier();
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("termination_ends_with_peer_failed_when_a_process_dies") {
  ForkJob job(3, [&](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    bool thrown = false;
    try {
      fabric.run([&](Thread& self) {
        const FiberPool fibers(self);
        Own mine(self);
        own() = &mine;
        self.barrier();
        if (member.rank == 2) {
          member.memory.words[0] = 1;
          for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));  // serves nothing
        }
        require(mine.messenger.call({{2}, 0}, [] {}), "sent");
        try {
          riutils::wait_for_termination(self);
        } catch (const PeerFailed&) {
          thrown = true;
          throw;
        }
      });
    } catch (const PeerFailed&) {
    }
    require(thrown, "the collective ends with PeerFailed");
    member.memory.words[1] += 1;
  });
  REQUIRE(support::eventually([&] { return job.memory().words[0] == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  job.kill(2);
  CHECK(support::eventually([&] { return job.memory().words[1] == 2; }));
  job.wait();
}
