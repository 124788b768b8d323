// SPDX-License-Identifier: MIT
// How long it takes until 16 readers that wait for one exclusive holder have had the lock.
#include <shared_mutex>

#include "bench/services/locks_cases.hpp"
#include "dsfabric/send_channel.hpp"
#include "riutils/fiber_pool.hpp"
#include "riutils/in_fiber.hpp"

namespace services_bench {
namespace {

using locks::LockId;
using locks::SharedMutex;

constexpr std::uint32_t kWaiters = 16;
constexpr LockId kCascadeLock{{1}, 9};

/// Half of the waiters are fibers of the worker of each process, so that no operating system
/// decides when they look.
template <class M>
double cascade(dsfabric::Thread& self, bench::Batch& batch, locks::LockSpace& space,
               LockBoard& board) {
  const riutils::FiberPool pool(self);
  dsfabric::SendChannel calls(self.fabric());
  SharedMutex<M> mutex(space, kCascadeLock);
  const bool measures = batch.rank() == 0;
  double took = 0;
  batch.channel().barrier();
  board.rounds = 0;
  board.asked = 0;
  board.last[0].word = 0;
  board.last[1].word = 0;
  batch.channel().barrier();
  for (std::uint64_t i = 1; i <= batch.iterations(); ++i) {
    if (measures) {
      mutex.lock();
      board.rounds.store(i, std::memory_order_release);
    } else {
      while (board.rounds.load(std::memory_order_acquire) < i) self.progress();
    }
    std::uint32_t had_it = 0;
    const auto wait = [there = &space, on = &board, count = &had_it,
                       mine = measures ? 0 : 1](dsfabric::CallContext&) {
      SharedMutex<M> reader(*there, kCascadeLock);
      on->asked.fetch_add(1, std::memory_order_acq_rel);
      const std::shared_lock lock(reader);
      if (++*count == kWaiters / 2) on->last[mine].word.fetch_add(1, std::memory_order_release);
      // It does something with what the lock protects, and its thread does something else.
      riutils::FiberPool::wait_step();
    };
    for (std::uint32_t n = 0; n < kWaiters / 2; ++n)
      (void)calls.call(self.id(), riutils::in_fiber(wait));
    while (board.asked.load(std::memory_order_acquire) < i * kWaiters) self.progress();
    // All have said that they ask; the last one is in its queue by the time that it has served.
    for (int n = 0; n < 20; ++n) self.progress();
    batch.channel().barrier();
    const auto all_had_it = [&] {
      return board.last[0].word.load(std::memory_order_acquire) >= i &&
             board.last[1].word.load(std::memory_order_acquire) >= i;
    };
    if (measures) {
      took += batch.time_ns([&] {
        mutex.unlock();
        while (!all_had_it()) self.progress();
      });
    } else {
      while (!all_had_it()) self.progress();
    }
    // The fibers end.
    while (pool.unfinished() != 0) self.progress();
  }
  return took / static_cast<double>(batch.iterations());
}

template <class M>
bench::Variant variant(const char* name, const fabric_bench::NodePtr& node,
                       const LockSpacesPtr& spaces,
                       const std::shared_ptr<bench::SharedMemory>& board) {
  const auto run = [=, &node](bench::Batch& batch) {
    return node->run([&](dsfabric::Thread& self) {
      return cascade<M>(self, batch, spaces->of<M>(self), *board->as<LockBoard>());
    });
  };
  return {.name = name, .measure = run, .assist = [=](bench::Batch& batch) { (void)run(batch); }};
}

}  // namespace

void add_lock_cascade_case(bench::Suite& suite, const fabric_bench::NodePtr& node) {
  const auto spaces = std::make_shared<LockSpaces>();
  const auto board = std::make_shared<bench::SharedMemory>(sizeof(LockBoard));
  suite.add({.name = "lock_cascade_shared",
             .size = kWaiters,
             .variants = {variant<locks::Ncosed>("ncosed", node, spaces, board),
                          variant<locks::Dqnl>("dqnl", node, spaces, board),
                          variant<locks::Srsl>("srsl", node, spaces, board),
                          variant<locks::Dslr>("dslr", node, spaces, board)},
             .ratios = {{.over = "dqnl", .under = "ncosed", .bar = ">= 4"},
                        {.over = "srsl", .under = "ncosed", .bar = ">= 1.5"},
                        {.over = "dslr", .under = "ncosed"}},
             .prepare = [=, &node](bench::Channel&) { spaces->make(*node, 1, 16); },
             .finish = [=, &node](bench::Channel&) { spaces->reset(*node); },
             .max_iterations = 2000});
}

}  // namespace services_bench
