// SPDX-License-Identifier: MIT
// What a user may choose about rings and about the objects that call through them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace riutils {

/// The ring from one thread to another. It is made at the first call, with the options of the
/// object that makes this call, and shared by all objects of the sending thread. When the first
/// call is the step of a broadcast: with those of its object that has the largest chunks. An object
/// that asks for other options later gets what the ring has; the log (CARIAMA_LOG=info) says so,
/// and a call that does not fit for this reason is an Error.
struct RingOptions {
  /// Bytes of a chunk, a multiple of 64, from 256 to 16 MiB. A call must fit into one.
  std::uint32_t chunk_bytes = 32u << 10;
  /// Chunks at the start, at least 2.
  std::uint32_t chunks = 2;
  /// Chunks at most, up to 65536: the ring grows while the receiver does not keep up.
  std::uint32_t chunk_limit = 4;
  /// Bytes of calls that may wait at the sender, in whole chunks, while the ring is full. What
  /// inline handlers call under WhenFull::kRetry may be more; then their worker takes calls more
  /// slowly.
  std::uint32_t queue_limit = 512u << 10;
  /// Equal in all of them.
  friend bool operator==(const RingOptions&, const RingOptions&) = default;
};

/// What a call does while the ring is full.
enum class WhenFull : std::uint8_t {
  /// It returns CallStatus::kFull.
  kFail,
  /// It waits, and the thread serves incoming calls meanwhile. An inline handler cannot wait; its
  /// call is queued at the sender, in order, beyond queue_limit if necessary. It is refused only
  /// when
  /// there is no registered memory left, or the peer is gone.
  kRetry,
  /// The call is queued at the sender, in order, and progress() sends it; at queue_limit it answers
  /// kFull.
  kRetryAsync,
};

/// What a user may choose about a messenger.
struct MessengerOptions {
  /// For rings that this object is the first to use.
  RingOptions ring = {};
  /// What a call does while the ring is full.
  WhenFull when_full = WhenFull::kRetry;
};

/// What a user may choose about an aggregator.
struct AggregatorOptions {
  /// When calls are sent.
  enum class Mode : std::uint8_t {
    /// Calls are batched, and sent together: when `flush_bytes` are full, by age, by flush().
    kTraditional,
    /// Each call is sent at once while the ring has room; otherwise calls are batched, and sent
    /// together when it has room again.
    kOverflow,
  };
  /// When calls are sent.
  Mode mode = Mode::kTraditional;
  /// For rings that this object is the first to use.
  RingOptions ring = {};
  /// When the ring is full. kOverflow holds calls first, and does this at queue_limit.
  WhenFull when_full = WhenFull::kRetry;
  /// Bytes of records that are sent together at most (kTraditional).
  std::uint32_t flush_bytes = 4096;
  /// progress() sends what has waited for longer.
  std::chrono::microseconds max_age{50};
};

}  // namespace riutils
