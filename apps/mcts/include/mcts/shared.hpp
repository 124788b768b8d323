// SPDX-License-Identifier: MIT
// What the workers of one process share during a search, beside the tree.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "mcts/tree.hpp"

namespace mcts {

/// Rollouts of one worker, told to the others of its process. Written by that worker only.
struct alignas(kCell) Pace {
  std::atomic<std::uint64_t> started{0};
  std::atomic<std::uint64_t> finished{0};
  /// It will start no more in this phase.
  std::atomic<bool> ended{false};
};

/// One per process. Any thread, wait-free, except where said.
template <Game G>
class Shared {
 public:
  /// Setup only.
  Shared(std::size_t memory_limit, std::uint32_t threads)
      : tree(memory_limit), threads_(threads), paces_(std::make_unique<Pace[]>(threads)) {}

  Tree<G> tree;
  /// The root, in the process that has it.
  Node<G>* root = nullptr;

  /// Setup only: before a phase.
  void begin_phase(std::uint64_t rollouts) noexcept {
    stop_.store(false, std::memory_order_relaxed);
    left_.store(rollouts, std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < threads_; ++i) {
      paces_[i].started.store(0, std::memory_order_relaxed);
      paces_[i].finished.store(0, std::memory_order_relaxed);
      paces_[i].ended.store(false, std::memory_order_relaxed);
    }
  }
  Pace& pace(std::uint32_t thread) noexcept { return paces_[thread]; }
  std::uint32_t threads() const noexcept { return threads_; }

  /// Up to `most` rollouts that the caller may start; 0: the phase has none left.
  std::uint64_t take(std::uint64_t max) noexcept {
    if (stop_.load(std::memory_order_relaxed)) return 0;
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    while (left != 0 && !left_.compare_exchange_weak(left, left - std::min(left, max),
                                                     std::memory_order_relaxed)) {
    }
    return std::min(left, max);
  }
  /// No more rollouts start in this phase.
  void stop() noexcept { stop_.store(true, std::memory_order_relaxed); }
  bool stopped() const noexcept { return stop_.load(std::memory_order_relaxed); }

  /// Rollouts under way. Never less than the truth when all have ended starting, since what is
  /// finished is read first.
  std::uint64_t under_way() const noexcept {
    std::uint64_t finished = 0, started = 0;
    // Acquire: pairs with the release of `started` below, as do the others.
    for (std::uint32_t i = 0; i < threads_; ++i) {
      finished += paces_[i].finished.load(std::memory_order_acquire);
    }
    for (std::uint32_t i = 0; i < threads_; ++i) {
      started += paces_[i].started.load(std::memory_order_acquire);
    }
    return started - std::min(started, finished);
  }
  bool all_ended() const noexcept {
    // Acquire: the last `started` of each was released before.
    for (std::uint32_t i = 0; i < threads_; ++i) {
      if (!paces_[i].ended.load(std::memory_order_acquire)) return false;
    }
    return true;
  }

 private:
  std::uint32_t threads_;
  std::unique_ptr<Pace[]> paces_;
  alignas(kCell) std::atomic<std::uint64_t> left_{0};
  alignas(kCell) std::atomic<bool> stop_{false};
};

}  // namespace mcts
