// SPDX-License-Identifier: MIT
// What the two sides of a stream may choose.
#pragma once

#include <cstdint>

#include "streams/limits.hpp"

namespace streams {

/// How the sender keeps to the space of the receiver (services.md, 8).
enum class FlowControl : std::uint8_t {
  /// The sender manages a ring in the receiver's memory and packs bytes tightly.
  kPacketized = 0,
  /// The receiver posts buffers of kCreditBuffer bytes, and each send takes one: the baseline that
  /// paper 003 compares with. For measurements.
  kCredits = 1,
  /// As kPacketized, but what Stream::send is given to send at once from kZeroCopyFrom bytes on is
  /// not copied into the ring: the receiver reads it out of the sender's memory, straight into its
  /// own buffer, and the call returns when it has. On devices other than shm from
  /// kZeroCopyFromPinned bytes on. On devices without atomics, and on shm out of memory of a
  /// SharedSegment, all bytes are copied.
  kZeroCopy = 2,
};

/// How memory is protected that was sent and not read yet.
enum class PageProtection : std::uint8_t {
  /// userfaultfd(2). System calls that write into such memory stop as threads do, and memory that
  /// is unmapped resets the stream.
  kUserfaultfd = 0,
  /// mprotect(2) and a handler of SIGSEGV, for where userfaultfd is not permitted. System calls
  /// that write into such memory fail with EFAULT. Memory that is unmapped, discarded or moved too
  /// early is not noticed: when other memory comes to lie there, the peer reads that. A handler of
  /// SIGSEGV that the program installs later must not come while a send is not settled, and ends
  /// asynchronous sends until the next stream is made. A forked child may write at once.
  kFaultSignal = 1,
};

/// Chosen when a stream is made.
struct StreamOptions {
  /// Of both directions. The side that connects decides; a listener takes what comes.
  FlowControl flow = FlowControl::kPacketized;
  /// Bytes that the peer can send before this side receives any: a power of two from kSmallestRing
  /// to kLargestRing. Each side chooses its own. Not for kCredits.
  std::uint32_t ring = kRing;
  /// What that becomes while the stream is used, once the ring was full kFullBeforeOffer times: a
  /// power of two to kLargestRing, or at most `ring`: it stays as it is. It stays so, too, while
  /// the kernel has no memory, or the larger rings of this process take kLargerRings. A ring that
  /// has grown does not shrink again.
  std::uint32_t largest_ring = kGrownRing;
  /// With kZeroCopy, for what this side sends: Stream::send returns at once from kAsynchronousFrom
  /// bytes on (AZ-SDP: paper 003, section 3), and the memory is write-protected until the peer has
  /// read it, or the program writes into it, which copies the rest. The memory must stay mapped:
  /// see Stream::settle. Where `protection` is not permitted, and on devices other than shm, it
  /// makes no difference.
  bool asynchronous = false;
  /// For `asynchronous`. Ask may_send_asynchronously.
  PageProtection protection = PageProtection::kUserfaultfd;
};

}  // namespace streams
