// SPDX-License-Identifier: MIT
// What was true of the watched process at which time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace accuracy {

/// Nanoseconds of the clock of the machine (CLOCK_MONOTONIC), which its processes share.
inline std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The two figures that are watched.
struct Figures {
  std::uint64_t threads = 0;
  std::uint64_t connections = 0;
};

/// The counters became `now` at some time from `before` to `after`.
struct Change {
  std::int64_t before;
  std::int64_t after;
  Figures now;
};

/// What the watched process writes and the other one fetches, when all is over, by RDMA.
struct Log {
  /// Set by the watcher: no more changes.
  std::uint64_t over;
  /// Changes that are written. The first is what was there at the beginning.
  std::uint64_t count;

  /// Changes follow the header.
  Change* changes() noexcept { return reinterpret_cast<Change*>(this + 1); }
};
static_assert(sizeof(Log) % alignof(Change) == 0);

/// Changes in a second at most.
inline constexpr std::size_t kChangesPerSecond = 10'000;
/// Bytes of a log for so many seconds.
constexpr std::size_t log_bytes(std::size_t changes) noexcept {
  return sizeof(Log) + changes * sizeof(Change);
}

/// How far figures are from what was true at any time from `from` to `to`, in the best case; a
/// counter that changes just then may have both numbers. `changes` is not empty.
Figures deviation(std::span<const Change> changes, const Figures& said, std::int64_t from,
                  std::int64_t to) noexcept;

}  // namespace accuracy
