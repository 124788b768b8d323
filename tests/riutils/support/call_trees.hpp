// SPDX-License-Identifier: MIT
// Random trees of calls that nobody waits for, to be counted when all of them have ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "riutils/in_fiber.hpp"
#include "riutils/rdma_aggregator.hpp"
#include "riutils/rdma_messenger_global.hpp"
#include "riutils/support/ring_job.hpp"
#include "riutils/termination.hpp"

namespace support {

/// How calls travel: the bits of a tree's `ways`.
enum Way : std::uint32_t {
  kSends = 1,
  kMessenger = 2,
  kAggregator = 4,
  kFibers = 8,
  kAll = 15,
  /// Workers run what comes through rings in fibers, whatever the call says.
  kFibersByDefault = 16,
};

/// What a worker and its handlers have.
struct Own {
  explicit Own(dsfabric::Thread& self)
      : sends(self.fabric()),
        messenger(self, {.ring = {2048, 2, 4, 64 << 10}}),
        aggregator(self, {.max_age = std::chrono::microseconds(1'000'000)}) {}

  dsfabric::SendChannel sends;
  riutils::RDMAMessengerGlobal messenger;
  riutils::RDMAAggregator aggregator;
  std::uint64_t made = 0;
  std::uint64_t ran = 0;
  Random random{1};
};

inline Own*& own() {
  thread_local Own* mine = nullptr;
  return mine;
}

/// A call that makes calls, down to depth 0, and waits a little where it is a fiber.
struct Grow {
  std::uint32_t depth;
  std::uint32_t ways;

  void operator()(dsfabric::CallContext& call) const {
    Own& mine = *own();
    if (riutils::FiberPool::inside()) {
      for (std::size_t steps = mine.random.below(4); steps > 0; --steps)
        riutils::FiberPool::wait_step();
      if (mine.random.one_in(8)) {
        dsfabric::ReturnSlot<int> slot(call.fabric);
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

  void spread(dsfabric::Fabric& fabric, std::uint32_t its_depth) const {
    Own& mine = *own();
    const dsfabric::ThreadId to =
        fabric.thread_of_rank(std::uint32_t(mine.random.below(fabric.total_threads())));
    const Grow next{its_depth, ways};
    ++mine.made;
    std::uint32_t way = 0;
    do {
      way = 1u << mine.random.below(3);
    } while ((ways & way) == 0);
    const bool fiber = (ways & kFibers) != 0 && mine.random.one_in(2);
    const auto make = [&](auto& channel) {
      return fiber ? channel.call(to, riutils::in_fiber(next)) : channel.call(to, next);
    };
    require(way == kSends       ? make(mine.sends)
            : way == kMessenger ? make(mine.messenger)
                                : make(mine.aggregator),
            "sent");
  }
};

struct Trees {
  std::uint32_t processes = 2;
  std::uint32_t threads = 1;
  std::uint32_t ways = kSends;
  std::uint32_t roots = 0;
  std::uint32_t rounds = 5;
  std::uint32_t deepest = 14;
};

/// Grows trees in rounds, each up to its end, and counts. Empty when all is well. `adversary` as
/// for run_job.
inline std::string grow_trees(const Trees& trees, std::uint64_t seed, std::uint64_t adversary) {
  RingJob job;
  job.processes = trees.processes;
  job.threads = trees.threads;
  const auto work = [&](dsfabric::Thread& self) {
    const riutils::FiberPool fibers(self);
    Own mine(self);
    riutils::RingSet::of(self).run_in_fibers((trees.ways & kFibersByDefault) != 0);
    mine.random = Random(seed * 31 + self.fabric().rank_of(self.id()));
    own() = &mine;
    self.barrier();
    for (std::uint32_t round = 0; round < trees.rounds; ++round) {
      const auto depth = std::uint32_t(mine.random.below(trees.deepest));
      const auto count = mine.random.below(trees.roots + 1);
      for (std::size_t i = 0; i < count; ++i) {
        Grow{0, trees.ways}.spread(self.fabric(), depth);
      }
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
  };
  return run_job(job, adversary, work);
}

}  // namespace support
