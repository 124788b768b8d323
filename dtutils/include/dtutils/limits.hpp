// SPDX-License-Identifier: MIT
// Every tunable constant of the layer, with the relations among them checked at compile time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dtutils {

/// Bytes of a cache line.
inline constexpr std::size_t kCacheLine = 64;

// --- queue pairs -------------------------------------------------------------------------------
/// Work requests that may be outstanding on a send queue, unless the user asks for another depth.
inline constexpr std::uint32_t kSendDepth = 256;
/// Receives that may be posted at once, unless the user asks for another depth.
inline constexpr std::uint32_t kReceiveDepth = 256;
/// Scatter/gather elements in one work request.
inline constexpr std::uint32_t kScatterGather = 4;
/// Bytes that a work request may carry inline, unless the device grants less (max_inline()).
inline constexpr std::uint32_t kInline = 128;
/// Outstanding READs and atomics a queue pair starts and serves (IB spec, 9.7.3.1).
inline constexpr std::uint8_t kReadDepth = 16;

// --- time-outs of a reliable connection (ibv_modify_qp(3)) -------------------------------------
/// 4.096 us * 2^14 = 67 ms for an acknowledgement; with kRetryCount tries a peer that is gone is
/// reported within about half a second.
inline constexpr std::uint8_t kAckTimeout = 14;
/// The largest value that every driver counts: Soft-RoCE retries without end with 7 (rxe_comp.c,
/// COMPST_ERROR_RETRY), and then requests to a peer that is gone never complete.
inline constexpr std::uint8_t kRetryCount = 6;
/// 7 means without end: a slow receiver is back-pressure, not an error.
inline constexpr std::uint8_t kRnrRetryForEver = 7;
/// Code 12 is 0.64 ms between two tries when the receiver has no buffer posted.
inline constexpr std::uint8_t kMinRnrTimer = 12;

// --- selective signaling (Seriema 4.1; protocol in selective_signaling.hpp) --------------------
/// Threads that may share one Transmitter, unless the user says otherwise (n).
inline constexpr std::uint32_t kSharingThreads = 16;
/// One work request in this many is signaled (k).
inline constexpr std::uint32_t kSignalInterval = 32;
/// Work requests that may be unretired (W); from kSignalAllFrom (T) on everyone signals.
inline constexpr std::uint32_t kWindow = 192;
/// From so many unretired work requests on every request is signaled (T).
inline constexpr std::uint32_t kSignalAllFrom = 128;

static_assert(kWindow - kSignalAllFrom >= 2 * kSharingThreads - 1,
              "W - T >= 2n - 1, or threads that stop can block another");
static_assert(kSendDepth >= kWindow + kSharingThreads - 1, "the send queue must hold W + n - 1");
static_assert(kSignalInterval * 2 <= kSignalAllFrom, "retire at least twice before the threshold");

// --- registered memory -------------------------------------------------------------------------
/// Bytes that are taken from the system and registered at once.
inline constexpr std::size_t kSuperpage = std::size_t{1} << 30;
/// Bytes of a chunk of a superpage.
inline constexpr std::size_t kChunk = std::size_t{2} << 20;
/// Bytes of a small page, and of a unit of a CircularAllocator by default.
inline constexpr std::size_t kPage = 4096;
/// Queue pairs that may use one piece of memory at the same time, unless the user says otherwise.
inline constexpr std::uint32_t kQueuePairsPerPiece = 4;

static_assert(kSuperpage % kChunk == 0);

// --- waiting -----------------------------------------------------------------------------------
/// Polls with a CPU pause between them before a waiter starts to yield its core.
inline constexpr std::uint32_t kSpinPolls = 256;
/// Yields before a waiter starts to sleep between polls.
inline constexpr std::uint32_t kYieldPolls = 2048;
/// Sleep between two polls of an idle waiter, in microseconds.
inline constexpr std::uint32_t kIdleSleepMicroseconds = 50;

}  // namespace dtutils
