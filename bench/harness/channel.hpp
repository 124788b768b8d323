// SPDX-License-Identifier: MIT
// How one process of a bench meets the others: barrier, exchange of small blobs, counters.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bench/harness/control_block.hpp"

namespace bench {

/// Process 0 is the parent: it measures. The others are its children. All methods are for the main
/// thread of their process ("owner thread only") except counter(). Collective methods (barrier,
/// gather, exchange) must be called by all processes in the same order; one that waits longer than
/// kStepLimit throws std::runtime_error, and the bench ends with that message.
class Channel {
 public:
  Channel(ControlBlock& block, int rank, int processes, std::vector<int> cores) noexcept;

  int rank() const noexcept { return rank_; }
  int processes() const noexcept { return processes_; }

  /// The cores that the bench may use. Process i is pinned to cores()[i modulo their number].
  const std::vector<int>& cores() const noexcept { return cores_; }

  /// Returns once all processes have called it. Spins, then yields.
  void barrier();

  /// Gives `mine` to all and returns what each process gave, by rank. At most kMailboxBytes bytes,
  /// or std::length_error.
  std::vector<std::string> gather_bytes(std::string_view mine);

  /// The same for one trivially copyable value.
  template <class T>
  std::vector<T> gather(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>, "only plain bytes travel between processes");
    std::vector<T> all(static_cast<std::size_t>(processes_), mine);
    const auto bytes = gather_bytes({reinterpret_cast<const char*>(&mine), sizeof(T)});
    for (std::size_t i = 0; i < all.size(); ++i) std::memcpy(&all[i], bytes[i].data(), sizeof(T));
    return all;
  }

  /// With two processes: gives `mine`, returns what the other one gave.
  template <class T>
  T exchange(const T& mine) {
    return gather(mine)[static_cast<std::size_t>(1 - rank_)];
  }

  /// Counter `index` (below kCountersPerProcess) of process `rank`: shared by all, starts at zero,
  /// never touched by the harness. Any thread, wait-free.
  std::atomic<std::uint64_t>& counter(int rank, int index) noexcept;

 private:
  ControlBlock& block_;
  int rank_;
  int processes_;
  std::vector<int> cores_;
  std::uint64_t barriers_ = 0;
};

}  // namespace bench
