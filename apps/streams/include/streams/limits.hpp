// SPDX-License-Identifier: MIT
// Every tunable constant of the service, with the relations among them checked at compile time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace streams {

/// Bytes of the ring in the receiver's memory, one for each direction of a stream.
inline constexpr std::uint32_t kRing = 16384;
/// Messages that may be on their way, or not yet looked at by the receiver, in each direction.
inline constexpr std::uint32_t kMessages = 32;
/// The receiver gives space back once it has taken so many bytes (services.md, 8: a quarter) ...
inline constexpr std::uint32_t kReturnBytes = kRing / 4;
/// ... or has looked at so many messages.
inline constexpr std::uint32_t kReturnMessages = kMessages / 2;
/// One request in so many is signaled, and each that ends a quarter of the ring.
inline constexpr std::uint32_t kSignalInterval = 8;
/// Receives that are always posted: data, the returns of space that they can cause at the other
/// side, the end of what the peer sends, and its close.
inline constexpr std::uint32_t kReceives = 2 * kMessages + 2;
/// Requests of the send queue: as many as the peer has receives, and those whose end is not known
/// yet because none after them was signaled.
inline constexpr std::uint32_t kRequests = kReceives + 2 * kSignalInterval;
/// Fruitless looks of a blocking call before it sleeps.
inline constexpr std::uint32_t kLooksBeforeSleep = 2000;
/// How long the other side of a new connection may take for the introduction as a whole.
inline constexpr std::chrono::milliseconds kIntroduction{5000};
/// How long closing waits until the device has sent what it was given.
inline constexpr std::chrono::milliseconds kLinger{2000};

static_assert((kRing & (kRing - 1)) == 0, "offsets are counts modulo the ring");
static_assert(kReturnBytes * 2 <= kRing, "a sender of a full ring must get space back");
static_assert(kReturnMessages * 2 <= kMessages);

}  // namespace streams
