// SPDX-License-Identifier: MIT
// What a user chooses about a Transmitter, and about each of its posts.
#pragma once

#include <cstdint>

#include "dtutils/post_flags.hpp"
#include "dtutils/queue_pair.hpp"
#include "dtutils/selective_signaling.hpp"
#include "dtutils/synchronizer.hpp"

namespace dtutils {

/// What a user may choose about a Transmitter.
struct TransmitterOptions {
  /// Of its queue pair.
  QueuePairOptions queue_pair;
  /// When requests are signaled, and how many may be outstanding.
  SignalingParameters signaling;

  /// What `threads` threads that share the Transmitter need; 1 gives the fastest form.
  static TransmitterOptions for_threads(std::uint32_t threads) noexcept;
};

/// How one transfer is to be made. Converts from flags, from a Synchronizer, or from {both}.
struct PostOptions {
  /// PostFlags. Signaling is automatic; kSignaled only adds a signal.
  unsigned flags = kUnsignaled;
  /// Decremented when the transfer is known to be done: for a write or send, when the peer's device
  /// has it; for a read or atomic, when the result is here. It is decremented or failed exactly
  /// once for this transfer, also when the post returns false (then it fails). Costs a completion.
  Synchronizer* sent = nullptr;

  /// From flags.
  PostOptions(unsigned post_flags = kUnsignaled) noexcept : flags(post_flags) {}  // NOLINT
  /// From a Synchronizer and flags.
  PostOptions(Synchronizer& synchronizer, unsigned post_flags = kUnsignaled) noexcept  // NOLINT
      : flags(post_flags), sent(&synchronizer) {}
};

}  // namespace dtutils
