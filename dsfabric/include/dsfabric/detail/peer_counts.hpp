// SPDX-License-Identifier: MIT
// Counts of calls by the process that they go to or come from: for termination, of groups too.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dsfabric/ids.hpp"
#include "dtutils/limits.hpp"

namespace dsfabric::detail {

/// One thread raises them, and any may read them, wait-free. Nobody else's data is in their lines.
class PeerCounts {
 public:
  /// Setup only.
  explicit PeerCounts(std::uint32_t processes)
      : processes_(processes), lines_(processes / kPerLine + 1) {}

  /// Release: who sees the count, sees what was counted before. A process that is not in the job is
  /// not counted. Owner thread only.
  void add(ProcessId process, std::uint64_t more = 1) noexcept {
    if (process.value >= processes_) [[unlikely]]
      return;
    std::atomic<std::uint64_t>& count =
        lines_[process.value / kPerLine].counts[process.value % kPerLine];
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_release);
  }
  void take(ProcessId process) noexcept { add(process, ~std::uint64_t{0}); }

  /// Of these processes together. Acquire: pairs with add(). Any thread, wait-free.
  std::uint64_t sum(std::span<const ProcessId> processes) const noexcept {
    std::uint64_t all = 0;
    for (const ProcessId each : processes) {
      all += lines_[each.value / kPerLine].counts[each.value % kPerLine].load(
          std::memory_order_acquire);
    }
    return all;
  }
  /// Of all processes. Any thread, wait-free.
  std::uint64_t sum() const noexcept {
    std::uint64_t all = 0;
    for (const Line& line : lines_) {
      for (const auto& count : line.counts) all += count.load(std::memory_order_acquire);
    }
    return all;
  }

 private:
  static constexpr std::size_t kPerLine = dtutils::kCacheLine / sizeof(std::uint64_t);
  struct alignas(dtutils::kCacheLine) Line {
    std::array<std::atomic<std::uint64_t>, kPerLine> counts{};
  };

  std::uint32_t processes_;
  std::vector<Line> lines_;
};

}  // namespace dsfabric::detail
