// SPDX-License-Identifier: MIT
// What a lock costs when nobody else wants it, and how long it takes from one holder to the next.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "bench/services/locks_cases.hpp"
#include "dtutils/device_memory.hpp"

namespace services_bench {
namespace {

using locks::LockId;
using locks::SharedMutex;

/// Lies at the home of the locks, process 1, and holds the words of the raw variants.
constexpr dsfabric::ProcessId kHome{1};
constexpr std::uint32_t kLatencyLock = 5;

std::uint64_t now_ns() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                    std::chrono::nanoseconds(1));
}

template <class M>
bench::Variant uncontended(const char* name, const fabric_bench::NodePtr& node,
                           const LockSpacesPtr& spaces) {
  return {
      .name = name,
      .measure = fabric_bench::on_worker(node, [=](dsfabric::Thread& self, bench::Batch& batch) {
        SharedMutex<M> mutex(spaces->of<M>(self), LockId{kHome, kLatencyLock});
        return batch.ns_each([&] {
          for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
            mutex.lock();
            mutex.unlock();
          }
        });
      })};
}

/// A process that lost its core in the middle of a round makes that round long, so: the middle one.
double median(std::vector<std::uint64_t>& all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return std::max(1.0, static_cast<double>(*middle));
}

/// Waits until the other process is about to do something, and then until it has surely done it.
void let_other(const std::atomic<std::uint64_t>& said, std::uint64_t what) {
  while (said.load(std::memory_order_acquire) < what) {
  }
  constexpr std::uint64_t kTimeToDoIt = 3000;
  const std::uint64_t begin = now_ns();
  while (now_ns() - begin < kTimeToDoIt) {
  }
}

/// Holders of one lock in turn. A holder first lets the other one enqueue, so that nothing but the
/// handover is on the way from unlock() there to the end of lock() here. One that was too late, and
/// finds the lock before its turn, gives it back.
template <class M>
double hand_over(dsfabric::Thread& self, bench::Batch& batch, LockSpaces& spaces,
                 LockBoard& board) {
  SharedMutex<M> mutex(spaces.of<M>(self), LockId{kHome, kLatencyLock});
  const bool measures = batch.rank() == 0;
  std::vector<std::uint64_t> took;
  took.reserve(batch.iterations());
  batch.channel().barrier();
  board.asked = 0;
  board.rounds = 0;
  board.done = 0;
  if (!measures) mutex.lock();
  batch.channel().barrier();
  const auto lock_in_turn = [&](const std::atomic<std::uint64_t>& turn, std::uint64_t i) {
    for (;;) {
      mutex.lock();
      const std::uint64_t now = now_ns();
      if (turn.load(std::memory_order_acquire) >= i) return now;
      mutex.unlock();
      std::this_thread::yield();
    }
  };
  batch.time_ns([&] {
    for (std::uint64_t i = 1; i <= batch.iterations(); ++i) {
      if (measures) {
        board.asked.store(2 * i - 1, std::memory_order_release);
        const std::uint64_t now = lock_in_turn(board.rounds, i);
        took.push_back(now - board.released_at.load(std::memory_order_relaxed));
        board.done.store(i, std::memory_order_release);
        let_other(board.asked, 2 * i);
        mutex.unlock();
      } else {
        let_other(board.asked, 2 * i - 1);
        board.rounds.store(i, std::memory_order_release);
        board.released_at.store(now_ns(), std::memory_order_relaxed);
        mutex.unlock();
        board.asked.store(2 * i, std::memory_order_release);
        (void)lock_in_turn(board.done, i);
      }
    }
  });
  if (!measures) mutex.unlock();
  return measures ? median(took) : 0;
}

/// The same way of measuring for a write and a loop that looks for it.
double write_seen(dsfabric::Thread& self, bench::Batch& batch, dsfabric::SymmetricBuffer& buffer,
                  LockBoard& board) {
  const bool measures = batch.rank() == 0;
  const dsfabric::ThreadId other = self.neighbour(1);
  auto* const word = reinterpret_cast<std::uint64_t*>(buffer.data());
  std::vector<std::uint64_t> took;
  took.reserve(batch.iterations());
  dtutils::store_device_word(word, std::uint64_t{0});
  batch.channel().barrier();
  board.asked = 0;
  batch.channel().barrier();
  batch.time_ns([&] {
    for (std::uint64_t i = 1; i <= batch.iterations(); ++i) {
      if (measures) {
        board.asked.store(i, std::memory_order_release);
        while (dtutils::load_device_word(word) != i) {
        }
        const std::uint64_t now = now_ns();
        took.push_back(now - board.released_at.load(std::memory_order_relaxed));
      } else {
        let_other(board.asked, i);
        board.released_at.store(now_ns(), std::memory_order_relaxed);
        (void)self.transmitter(other.process)
            .write({&i, sizeof i, 0}, buffer.at(other).part(0, sizeof i), dtutils::kInlined);
      }
    }
  });
  return measures ? median(took) : 0;
}

template <class M>
bench::Variant handover(const char* name, const fabric_bench::NodePtr& node,
                        const LockSpacesPtr& spaces,
                        const std::shared_ptr<bench::SharedMemory>& board) {
  const auto run = [=, &node](bench::Batch& batch) {
    return node->run([&](dsfabric::Thread& self) {
      return hand_over<M>(self, batch, *spaces, *board->as<LockBoard>());
    });
  };
  return {.name = name, .measure = run, .assist = [=](bench::Batch& batch) { (void)run(batch); }};
}

}  // namespace

void add_lock_latency_cases(bench::Suite& suite, const fabric_bench::NodePtr& node) {
  const auto spaces = std::make_shared<LockSpaces>();
  const auto buffer = std::make_shared<std::unique_ptr<dsfabric::SymmetricBuffer>>();
  const auto board = std::make_shared<bench::SharedMemory>(sizeof(LockBoard));
  const auto prepare = [=, &node](bench::Channel&) {
    spaces->make(*node, 1, 16);
    node->run([&](dsfabric::Thread& self) {
      *buffer = std::make_unique<dsfabric::SymmetricBuffer>(self, 64);
      std::memset((*buffer)->data(), 0, 64);
      self.barrier();
      return 0.0;
    });
  };
  const auto finish = [=, &node](bench::Channel&) {
    spaces->reset(*node);
    node->run([&](dsfabric::Thread& self) {
      self.barrier();
      buffer->reset();
      return 0.0;
    });
  };
  const auto two_atomics =
      fabric_bench::on_worker(node, [=](dsfabric::Thread& self, bench::Batch& batch) {
        const auto word = (*buffer)->at({kHome, 0}).part(0, sizeof(std::uint64_t));
        dtutils::Transmitter& transmitter = self.transmitter(kHome);
        return batch.ns_each([&] {
          for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
            (void)transmitter.blocking_compare_and_swap(word, 0, 1);
            (void)transmitter.blocking_compare_and_swap(word, 1, 0);
          }
        });
      });
  suite.add({.name = "lock_uncontended",
             .variants = {{.name = "two_compare_and_swaps", .measure = two_atomics},
                          uncontended<locks::Ncosed>("ncosed", node, spaces),
                          uncontended<locks::Dqnl>("dqnl", node, spaces),
                          uncontended<locks::Dslr>("dslr", node, spaces),
                          uncontended<locks::Srsl>("srsl", node, spaces)},
             .ratios = {{.over = "ncosed", .under = "two_compare_and_swaps", .bar = "<= 1.15"},
                        {.over = "dslr", .under = "two_compare_and_swaps"},
                        {.over = "srsl", .under = "ncosed"}},
             .prepare = prepare,
             .finish = finish});
  const auto seen = [=, &node](bench::Batch& batch) {
    return node->run([&](dsfabric::Thread& self) {
      return write_seen(self, batch, **buffer, *board->as<LockBoard>());
    });
  };
  suite.add({.name = "lock_handover",
             .variants = {{.name = "write_seen",
                           .measure = seen,
                           .assist = [=](bench::Batch& batch) { (void)seen(batch); }},
                          handover<locks::Ncosed>("ncosed", node, spaces, board),
                          handover<locks::Dslr>("dslr", node, spaces, board),
                          handover<locks::Srsl>("srsl", node, spaces, board)},
             .ratios = {{.over = "ncosed", .under = "write_seen", .bar = "<= 1.6"},
                        {.over = "dslr", .under = "ncosed"},
                        {.over = "srsl", .under = "ncosed"}},
             .prepare = prepare,
             .finish = finish});
}

}  // namespace services_bench
