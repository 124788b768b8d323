// SPDX-License-Identifier: MIT
// Counts of calls by the process that they go to or come from: for termination, of groups too.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "dsfabric/detail/sparse_array.hpp"
#include "dsfabric/ids.hpp"

namespace dsfabric::detail {

/// One thread raises them, and any may read them, wait-free. The first count of a process may
/// allocate. Nobody else's data is in their lines.
class PeerCounts {
 public:
  /// Setup only.
  explicit PeerCounts(std::uint32_t processes) : processes_(processes), counts_(processes) {}

  /// Release: who sees the count, sees what was counted before. A process that is not in the job is
  /// not counted. Owner thread only.
  void add(ProcessId process, std::uint64_t more = 1) noexcept {
    if (process.value >= processes_) [[unlikely]]
      return;
    std::atomic<std::uint64_t>& count = counts_.at(process.value);
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_release);
  }
  void take(ProcessId process) noexcept { add(process, ~std::uint64_t{0}); }

  /// Of these processes together. Acquire: pairs with add(). Any thread, wait-free.
  std::uint64_t sum(std::span<const ProcessId> processes) const noexcept {
    std::uint64_t all = 0;
    for (const ProcessId each : processes) {
      const auto* const count = counts_.find(each.value);
      if (count != nullptr) all += count->load(std::memory_order_acquire);
    }
    return all;
  }
  /// Of all processes. Any thread, wait-free.
  std::uint64_t sum() const noexcept {
    std::uint64_t all = 0;
    counts_.for_each([&](const std::atomic<std::uint64_t>& count) {
      all += count.load(std::memory_order_acquire);
    });
    return all;
  }

 private:
  std::uint32_t processes_;
  SparseArray<std::atomic<std::uint64_t>> counts_;
};

}  // namespace dsfabric::detail
