// SPDX-License-Identifier: MIT
// What stands behind the futures of one thread: result cells that are used again and again.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "dsfabric/call_status.hpp"
#include "dsfabric/detail/result_cell.hpp"

namespace dsfabric::detail {

class FuturePool;

/// A result cell, and what shall happen when its result has come. It belongs to a RemoteFuture, or,
/// when that is gone or has handed it to a continuation, to its pool.
struct FutureState : ResultCell {
  /// Bytes of a continuation that is kept without an allocation.
  static constexpr std::size_t kContinuation = 64;

  FutureState(FuturePool& its_pool, Fabric& fabric, std::uint32_t its_class,
              std::uint32_t value_bytes)
      : ResultCell(fabric, value_bytes), pool(its_pool), size_class(its_class) {}

  FuturePool& pool;
  const std::uint32_t size_class;
  /// What the call was answered.
  CallStatus status = CallStatus::kAccepted;
  /// The pool looks at it in progress().
  bool watched = false;
  /// The next of its size that is free.
  FutureState* next = nullptr;
  /// Runs the continuation, which takes the state with it; nullptr: there is none, and the state is
  /// free once its result has come.
  void (*run)(FutureState& state) = nullptr;
  /// Destroys the continuation instead.
  void (*drop)(FutureState& state) noexcept = nullptr;
  alignas(std::max_align_t) std::byte continuation[kContinuation];
};

/// The states of one thread. No state is ever freed, so nothing is allocated once there are as many
/// as are needed at a time. Owner thread only.
class FuturePool {
 public:
  /// Continuations that were attached to results, and those that have run or were dropped.
  struct Counters {
    std::atomic<std::uint64_t> attached{0};
    std::atomic<std::uint64_t> ended{0};
  };

  FuturePool(Fabric& fabric, Counters& counters) noexcept : fabric_(fabric), counters_(counters) {}
  FuturePool(const FuturePool&) = delete;
  FuturePool& operator=(const FuturePool&) = delete;
  ~FuturePool();

  /// That of the calling thread, made when it first asks. Throws as Fabric::transmitter. Any
  /// thread.
  static FuturePool& of(Fabric& fabric);

  /// Cells have room for 8, 16, 32, ... bytes.
  static constexpr std::uint32_t kClasses = 28;
  static constexpr std::uint32_t class_of(std::uint32_t value_bytes) noexcept {
    return static_cast<std::uint32_t>(std::bit_width((std::max(value_bytes, 8U) - 1) >> 3));
  }

  /// A state of this size whose cell is free. Throws Error when there is no registered memory.
  FutureState& take(std::uint32_t size_class) {
    FutureState* const state = free_[size_class];
    if (state == nullptr) [[unlikely]]
      return make(size_class);
    free_[size_class] = state->next;
    return *state;
  }
  /// The result was taken, or nobody waits for it any more and it has come.
  void give_back(FutureState& state) noexcept {
    state.release();
    state.next = free_[state.size_class];
    free_[state.size_class] = &state;
  }
  /// Its future is gone: free now, or when the result has come.
  void abandon(FutureState& state) noexcept {
    if (state.done() && !state.watched) {
      give_back(state);
    } else {
      abandon_pending(state);
    }
  }
  /// The continuation that `run` and `drop` name runs in progress() once the result has come.
  void attach(FutureState& state, void (*run)(FutureState&),
              void (*drop)(FutureState&) noexcept) noexcept;

  /// Runs continuations whose results have come, and frees states that were abandoned. True when
  /// there was one. Throws what continuations throw, when the fabric has no upcall for it.
  bool progress();
  /// Nothing is left for progress().
  bool idle() const noexcept { return watched_.empty(); }
  /// States made so far. For tests.
  std::size_t made() const noexcept { return states_.size(); }

 private:
  /// States that one progress() looks at, at most.
  static constexpr std::size_t kLooks = 64;

  FutureState& make(std::uint32_t size_class);
  void abandon_pending(FutureState& state) noexcept;
  void watch(FutureState& state) noexcept;
  /// Takes the state at `index` out of those that are looked at.
  FutureState& unwatch(std::size_t index) noexcept;
  void sweep() noexcept;

  Fabric& fabric_;
  Counters& counters_;
  std::array<FutureState*, kClasses> free_{};
  std::deque<FutureState> states_;
  /// Those with a continuation, and abandoned ones. It has room for all states.
  std::vector<FutureState*> watched_;
  std::size_t next_ = 0;
};

}  // namespace dsfabric::detail
