// SPDX-License-Identifier: MIT
// Wire format: the words that the two sides of a packetized stream write and read in each other's
// memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dtutils/hashed_word.hpp"
#include "streams/limits.hpp"

namespace streams {

// The registered memory of a side:
//
//   byte  0        256          kStagingAt        kStagingAt + staging
//         | Board  | unused     | staging         | ring, larger ring   |
//
// Byte n of a direction lies in byte n % staging of the staging memory of the sender, if it was
// packed, and in the ring of the receiver as ring.hpp says. The larger ring lies there only on shm,
// and elsewhere in memory of its own (later_memory.hpp). Every word is a hashed one, since
// Soft-RoCE writes and reads words in parts; a word of another hash is one that is not there yet.
inline constexpr std::size_t kStagingAt = 2048;

/// Bits of a count of bytes in a word; counts are compared modulo 2^kCountBits.
inline constexpr unsigned kCountBits = 38;
/// Flags above the count. Bytes behind these may be packed and not written, until the receiver
/// tells that it knows of these; or the next ones will be told of by a word, which wakes nobody.
inline constexpr std::uint32_t kPacking = 1;
/// No bytes come after these.
inline constexpr std::uint32_t kEnded = 2;
/// The sender does not receive any more either.
inline constexpr std::uint32_t kClosed = 4;
/// With kClosed: and it had not received everything. Without: see is_handed_over().
inline constexpr std::uint32_t kUnread = 8;

constexpr bool is_ended(std::uint32_t flags) noexcept { return (flags & (kEnded | kClosed)) != 0; }
/// Ended by Stream::hand_over(): kEnded with kUnread, and, once it is closed, kClosed without
/// kEnded. There is no bit left for it.
constexpr bool is_handed_over(std::uint32_t flags) noexcept {
  return (flags & kClosed) != 0 ? (flags & kEnded) == 0 : (flags & kUnread) != 0;
}
constexpr bool is_reset(std::uint32_t flags) noexcept {
  return (flags & kClosed) != 0 && (flags & kUnread) != 0;
}

/// Which word it is, for its hash.
enum WordKind : std::uint64_t {
  kSentWord = 1,
  kTakenWord,
  kSeenWord,
  kArmedWord,
  kPackedWord,
  kHeardWord,
  kGrownWord,
  kLargerAtWord,
  kLargerKeyWord,
  kSurvivorWord
};

constexpr std::uint64_t count_word(WordKind kind, std::uint64_t count,
                                   std::uint32_t flags = 0) noexcept {
  constexpr std::uint64_t mask = (std::uint64_t{1} << kCountBits) - 1;
  return dtutils::hashed_word((count & mask) | std::uint64_t{flags} << kCountBits, kind);
}
constexpr std::uint32_t flags_of(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>((word & dtutils::kHashedMask) >> kCountBits);
}
/// Immediate data, which tells the same as the word `sent`: the flags are above the count here,
/// too.
inline constexpr unsigned kImmediateBits = 28;
static_assert(kLargestRing <= (1u << (kImmediateBits - 2)));
constexpr std::uint32_t sent_immediate(std::uint64_t count, std::uint32_t flags) noexcept {
  return (static_cast<std::uint32_t>(count) & ((1u << kImmediateBits) - 1)) | flags
                                                                                  << kImmediateBits;
}
/// How far the low `bits` bits of `word` are ahead of `count`; negative: behind.
constexpr std::int64_t ahead_of(std::uint64_t word, std::uint64_t count, unsigned bits) noexcept {
  return static_cast<std::int64_t>((word - count) << (64 - bits)) >> (64 - bits);
}

/// Pages of 4 KiB: the larger ring begins with one, so that its number fits into a word.
inline constexpr unsigned kPageBits = 12;

/// Where the larger ring of the receiver is. Written before the sender is told that it may use it.
struct LargerRing {
  /// The number of its first page.
  std::uint64_t page;
  /// The key for it.
  std::uint64_t key;
};

/// A flag of Feedback::taken.
inline constexpr std::uint32_t kLargerRing = 1;
/// Another one: if this process dies, others may go on with the connection.
inline constexpr std::uint32_t kShared = 2;

/// What the receiver tells the sender.
struct Feedback {
  /// Bytes received by the program: their space is free. Above them flags; kLargerRing: from now on
  /// there is memory for the larger ring.
  std::uint64_t taken;
  /// Bytes that the receiver knows of. What comes behind them may not stay packed.
  std::uint64_t seen;
  /// Bit 0: also for space. The other bits: a number; a new one asks for a bell at the next change.
  std::uint64_t armed;
  /// Writes with immediate data that came. Not written where there are none.
  std::uint64_t heard;
};
static_assert(sizeof(Feedback) == kInlineNeeded && offsetof(Feedback, heard) == 24);

/// What a side lets the other one read.
struct Published {
  /// Bits 14 to 41: bytes written into the peer's ring, modulo 2^28; bits 0 to 13: bytes behind
  /// them that are packed in the staging memory.
  std::uint64_t packed;
  /// Bytes taken, as the last Feedback told, and the flags kEnded and kClosed.
  std::uint64_t state;
};
inline constexpr unsigned kPackedBits = 14;
inline constexpr unsigned kWrittenBits = dtutils::kHashedBits - kPackedBits;
static_assert(kStaging < (1u << kPackedBits) && kLargestRing <= (1u << (kWrittenBits - 2)));

constexpr std::uint64_t packed_word(std::uint64_t written, std::uint64_t packed) noexcept {
  return dtutils::hashed_word(((written << kPackedBits) & dtutils::kHashedMask) | packed,
                              kPackedWord);
}

struct Board {
  /// Written by the peer: bytes that are in the ring here, and flags.
  alignas(64) std::uint64_t sent;
  /// Written by the peer, once, before the first byte of the larger ring: which one that is.
  std::uint64_t grown;
  /// Written by the peer, once, when it offers its larger ring.
  LargerRing larger;
  /// Written by the peer.
  alignas(64) Feedback feedback;
  /// Read by the peer.
  alignas(64) Published published;
  /// Where the Published of the peer arrives when this side reads it.
  alignas(64) Published answer;
  /// Written by this side: bytes that the program has received, for a process that goes on when
  /// this one has died.
  std::uint64_t received;
};
static_assert(sizeof(Board) == 256 && std::is_trivially_copyable_v<Board>);
static_assert(offsetof(Board, feedback) == 64 && offsetof(Board, published) == 128);

/// A word that the device writes. Acquire: what it wrote before is seen, too.
inline std::uint64_t load(std::uint64_t& word) noexcept {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}

}  // namespace streams
