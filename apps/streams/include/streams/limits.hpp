// SPDX-License-Identifier: MIT
// Every tunable constant of the service, with the relations among them checked at compile time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace streams {

// --- packetized flow control -------------------------------------------------------------------
/// Bytes of the ring in the receiver's memory, one for each direction of a stream, unless the user
/// asks for another size.
inline constexpr std::uint32_t kRing = 8192;
/// Bytes of the ring of a direction that was full often, unless the user asks for another size.
inline constexpr std::uint32_t kGrownRing = std::uint32_t{1} << 17;
/// The receiver offers it when it has found its ring full so often.
inline constexpr std::uint32_t kFullBeforeOffer = 8;
/// All rings of a process that have grown, and what their senders have registered for them on
/// devices other than shm, take so many bytes at most; no others grow meanwhile.
inline constexpr std::size_t kLargerRings = std::size_t{1} << 26;
/// The smallest and the largest ring.
inline constexpr std::uint32_t kSmallestRing = 4096;
/// See kSmallestRing.
inline constexpr std::uint32_t kLargestRing = std::uint32_t{1} << 26;
/// Bytes for what is packed before it leaves, on devices that take the rest from the user's memory.
inline constexpr std::uint32_t kStaging = 2048;
/// Packed bytes leave at the latest when they are so many.
inline constexpr std::uint32_t kPacked = 1024;
/// Sends in one direction, with nothing received meanwhile, from which on small ones are packed.
inline constexpr std::uint32_t kSendsBeforePacking = 4;
/// How long a receiver that polls leaves the sender alone with what it packs.
inline constexpr std::chrono::nanoseconds kPatienceWithPacking{500};
/// The receiver gives space back, and the sender tells of what it wrote, once they are this part of
/// the ring (services.md, 8: a quarter).
inline constexpr std::uint32_t kPartsOfRing = 4;
/// One request in so many is signaled, and each that ends a part of the ring.
inline constexpr std::uint32_t kSignalInterval = 4;
/// Requests of the send queue.
inline constexpr std::uint32_t kRequests = 16;
/// Inline bytes that a device must grant: all words that the sides write for each other.
inline constexpr std::uint32_t kInlineNeeded = 32;
/// On devices other than shm: receives for writes with immediate data, which tell of bytes.
inline constexpr std::uint32_t kReceivesForWrites = 64;
/// The receiver tells how many of them came once it knows of this part of them.
inline constexpr std::uint32_t kPartsOfReceives = 2;

// --- credits -----------------------------------------------------------------------------------
/// Bytes of a buffer, which a message takes whatever its size (paper 003, section 6).
inline constexpr std::uint32_t kCreditBuffer = 8192;
/// Messages of data that may be on their way, or not yet received, in each direction.
inline constexpr std::uint32_t kCreditMessages = 32;

// --- zero-copy ---------------------------------------------------------------------------------
/// Bytes of a send from which on the receiver reads them out of the sender's memory.
inline constexpr std::size_t kZeroCopyFrom = 32768;
/// The same on devices on which the memory is pinned for that, by system calls at both sides.
inline constexpr std::size_t kZeroCopyFromPinned = 262144;
/// Bytes that the receiver is offered at a time, at most.
inline constexpr std::size_t kLargestOffer = std::size_t{1} << 30;
/// It reads so many of them at once, at most.
inline constexpr std::uint32_t kReadAtOnce = 1u << 22;
/// Receives of fewer bytes, and peeks, read so many of them ahead.
inline constexpr std::uint32_t kReadAhead = 16384;
/// Bytes of a send from which on it may return before the peer has read it, and the bytes that it
/// leaves to be read at most.
inline constexpr std::size_t kAsynchronousFrom = 262144;
/// See kAsynchronousFrom.
inline constexpr std::size_t kLargestAsynchronous = std::size_t{4} << 20;
/// How long a sender whose time is over waits for a receiver that is reading at that moment.
inline constexpr std::chrono::milliseconds kPatienceWithReader{1000};

// --- waiting -----------------------------------------------------------------------------------
/// How long a call waits for room in the send queue for what the peer cannot go on without: space,
/// or the end. The device makes room without the program of the peer; where the network stands
/// still, so that it does not, one call waits in vain.
inline constexpr std::chrono::milliseconds kPatienceForRoom{20};
/// Fruitless looks of a blocking call before it sleeps.
inline constexpr std::uint32_t kLooksBeforeSleep = 2000;
/// On devices that do not tell of the death of a peer that is sent nothing, a side that looks in
/// vain and never sleeps asks the kernel whether the peer lives, once in this time.
inline constexpr std::chrono::milliseconds kLookForPeer{100};
/// How long the other side of a new connection may take for the introduction as a whole.
inline constexpr std::chrono::milliseconds kIntroduction{5000};
/// Strangers that an AddressListener hears at a time; each takes a descriptor.
inline constexpr std::size_t kGuests = 64;
/// How long closing waits until the device has sent what it was given.
inline constexpr std::chrono::milliseconds kLinger{2000};

static_assert((kRing & (kRing - 1)) == 0, "offsets are counts modulo the ring");
static_assert(kSmallestRing <= kRing && kRing <= kGrownRing && kGrownRing <= kLargestRing);
static_assert(kZeroCopyFrom <= kZeroCopyFromPinned);
static_assert(kAsynchronousFrom >= 2 * kZeroCopyFrom && kAsynchronousFrom < kLargestAsynchronous);
static_assert(kReadAhead <= kZeroCopyFrom && kReadAhead <= kReadAtOnce);
static_assert(kPacked * 2 <= kStaging && kStaging <= kSmallestRing);
static_assert(2 * kSignalInterval <= kRequests, "the send queue is given back in time");

}  // namespace streams
