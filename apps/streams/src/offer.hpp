// SPDX-License-Identifier: MIT
// Wire format: frames of a zero-copy stream, and the word that both sides of an offer change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "board.hpp"
#include "streams/limits.hpp"

namespace streams {

// The bytes of the packetized stream underneath are frames. Each begins with a word:
//
//   bit  63     56 55                                  0
//        | kind   | bytes of the stream in this frame  |
//
// kData: the bytes follow. kOffer: the rest of an Offer follows, and the bytes are in the memory of
// the sender.
enum class FrameKind : std::uint8_t { kData = 1, kOffer = 2 };

inline constexpr unsigned kFrameLengthBits = 56;
inline constexpr std::uint64_t kFrameLengthMask = (std::uint64_t{1} << kFrameLengthBits) - 1;

constexpr std::uint64_t frame_head(FrameKind kind, std::uint64_t length) noexcept {
  return std::uint64_t{static_cast<std::uint8_t>(kind)} << kFrameLengthBits | length;
}

/// Where bytes of the stream lie, for a receiver that reads them.
///
///   byte  0      8         16     20       24              32           36         40
///         | head | address | rkey | number | spare address | spare rkey | reserved |
struct Offer {
  std::uint64_t head;
  std::uint64_t address;
  std::uint32_t rkey;
  /// 1 to kLastOffer: which offer of this side it is.
  std::uint32_t number;
  /// Where the same bytes lie once the state is kMoved. 0: it never will be.
  std::uint64_t spare_address;
  std::uint32_t spare_rkey;
  /// 0.
  std::uint32_t reserved;
};
static_assert(sizeof(Offer) == 40 && std::is_trivially_copyable_v<Offer>);

// The sender keeps a word about its last offer, in its registered memory. Both sides change it by
// compare-and-swap only, so that they agree on what was read, and neither ever has to wait for the
// other one:
//
//                       +--- all but the last part was read ---+
//                       v                                      |
//   sender offers: kOffered --- receiver begins a part ---> kReading
//                       |                                      |
//                       +--- sender takes it back -------------+---> kWithdrawn
//
// The sender of an offer that is asynchronous does not take it back. Instead, when the program
// writes into the memory, it copies what was not read, and goes from either of the first two states
// to kMoved, which remains while the receiver reads from there; or to kLost, when the program has
// unmapped the memory.
//
// What the receiver has read counts when its compare-and-swap behind it has succeeded; if it
// has not, the bytes are forgotten. The sender waits for a receiver that is reading, since memory
// that was taken back may go away, but for kPatienceWithReader at most.
enum class OfferState : std::uint8_t {
  kOffered = 1,
  kReading = 2,
  kWithdrawn = 3,
  kMoved = 4,
  kLost = 5
};

inline constexpr unsigned kTakenBits = 40;
inline constexpr unsigned kStateBits = 3;
inline constexpr std::uint32_t kLastOffer = (1u << (64 - kTakenBits - kStateBits)) - 1;
static_assert(kLargestOffer < (std::uint64_t{1} << kTakenBits));

/// That word: `taken` bytes of offer `number` were read.
struct OfferWord {
  std::uint32_t number;
  OfferState state;
  std::uint64_t taken;

  constexpr std::uint64_t raw() const noexcept {
    return std::uint64_t{number} << (kTakenBits + kStateBits) |
           std::uint64_t{static_cast<std::uint8_t>(state)} << kTakenBits | taken;
  }
  static constexpr OfferWord from(std::uint64_t raw) noexcept {
    return {static_cast<std::uint32_t>(raw >> (kTakenBits + kStateBits)),
            static_cast<OfferState>(raw >> kTakenBits & ((1u << kStateBits) - 1)),
            raw & ((std::uint64_t{1} << kTakenBits) - 1)};
  }
};

/// Behind the Board, in the registered memory of each side.
struct OfferBoard {
  /// Of the last offer of this side. The peer changes it, too.
  alignas(64) std::uint64_t word;
  /// Where the word of the peer arrives as it was before this side changed it.
  alignas(64) std::uint64_t answer;
  /// Where the word of this side arrives, on devices that change it for this side, too.
  alignas(64) std::uint64_t own_answer;
};
inline constexpr std::size_t kOffersAt = sizeof(Board);
static_assert(kOffersAt + sizeof(OfferBoard) <= kStagingAt);

}  // namespace streams
