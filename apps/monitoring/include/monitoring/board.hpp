// SPDX-License-Identifier: MIT
// The counters of a process, in registered memory that all others may read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "dsfabric/fabric.hpp"

namespace monitoring {

/// Counters of one process at most.
inline constexpr std::uint32_t kMaxCounters = 120;
/// Bytes of the name of a counter at most.
inline constexpr std::size_t kMaxCounterName = 38;
/// Bytes of its unit at most.
inline constexpr std::size_t kMaxUnit = 8;

/// What the number of a counter says.
enum class Kind : std::uint8_t {
  /// It only grows; what is of interest is how fast.
  kTotal,
  /// It goes up and down.
  kLevel,
};

/// One word of the board, changed by the program in the course of its work. A copyable handle; the
/// memory stays until the Fabric has left the job. Any thread, wait-free.
class Counter {
 public:
  /// For Board.
  explicit Counter(std::uint64_t& word) noexcept : word_(&word) {}
  /// Adds; wraps round.
  void add(std::uint64_t amount = 1) noexcept {
    // Relaxed: readers get single words, and no order among them is promised.
    std::atomic_ref(*word_).fetch_add(amount, std::memory_order_relaxed);
  }
  /// Takes away, for a level.
  void subtract(std::uint64_t amount = 1) noexcept {
    std::atomic_ref(*word_).fetch_sub(amount, std::memory_order_relaxed);
  }
  /// Sets the number.
  void set(std::uint64_t value) noexcept {
    std::atomic_ref(*word_).store(value, std::memory_order_relaxed);
  }
  /// The number now.
  std::uint64_t value() const noexcept {
    return std::atomic_ref(*word_).load(std::memory_order_relaxed);
  }

 private:
  std::uint64_t* word_;
};

namespace detail {
class Page;
}  // namespace detail

/// What this process publishes: up to kMaxCounters numbers of 8 bytes, with names and units, in
/// registered memory, so that a Watcher in any process reads them by one RDMA read (paper 003,
/// section 5.2: RDMA-sync). No processor of this process takes part in a read.
///
///     monitoring::Board board{fabric};
///     monitoring::Counter requests = board.counter("requests");
///     ... requests.add();                       // in the course of the work
///
/// All boards of one fabric are one: make as many as is convenient.
class Board {
 public:
  /// Makes the counters of this process known to the job. Throws Error when there is no registered
  /// memory. Not inside a message handler. Setup only.
  explicit Board(dsfabric::Fabric& fabric);

  /// The counter of that name, made at its first use. `unit` is for people: "B", "us", "". Throws
  /// Error when the name is empty or longer than kMaxCounterName, the unit longer than kMaxUnit,
  /// one of them has a space or a control character, the counter exists with another unit or kind,
  /// or kMaxCounters exist. Any thread (takes a lock).
  Counter counter(std::string_view name, std::string_view unit = {}, Kind kind = Kind::kTotal);

 private:
  std::shared_ptr<detail::Page> page_;
};

}  // namespace monitoring
