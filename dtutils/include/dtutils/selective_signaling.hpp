// SPDX-License-Identifier: MIT
// Wait-free selective signaling among threads that share a queue pair (Seriema 4.1).
#pragma once

#include <atomic>
#include <cstdint>

#include "dtutils/limits.hpp"

namespace dtutils {

/// A promise that a piece of memory is free again: true once the counter has passed the ticket.
/// Trivially copyable. Any thread, wait-free.
struct RetireTag {
  const std::atomic<std::uint64_t>* retired = nullptr;
  std::uint64_t ticket = 0;

  /// An empty tag is done. Acquire: pairs with the release in SelectiveSignaling::retire, so that a
  /// reuse of the memory happens after the device was seen to be done with it.
  bool done() const noexcept {
    return retired == nullptr || retired->load(std::memory_order_acquire) > ticket;
  }
};

/// n, k, T and W of the protocol; see SelectiveSignaling for the relations they must keep.
struct SignalingParameters {
  std::uint32_t sharing_threads = kSharingThreads;
  std::uint32_t signal_interval = kSignalInterval;
  std::uint32_t signal_all_from = kSignalAllFrom;
  std::uint32_t window = kWindow;

  /// Throws Error that names the relation which does not hold. Setup only.
  void check(std::uint32_t send_depth, std::uint32_t completion_depth) const;
};

}  // namespace dtutils
