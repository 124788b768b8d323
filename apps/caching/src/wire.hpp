// SPDX-License-Identifier: MIT
// Wire format: a document in its block, the words of the directory, what processes tell each other.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace caching::detail {

/// Blocks begin at multiples of this many bytes, and have whole numbers of them: units.
inline constexpr std::uint64_t kUnit = 256;
inline constexpr std::uint64_t kLine = 64;

/// A document in its block, which others read from byte 56 on in one go:
///
///   byte 0        56      64       128                                          a line of its own
///        | unused | front | Fields | key variant validator metadata body ...    | back
///
/// `front` and `back` are the same number when the document is whole, and 0 from its eviction on.
/// The owner writes `front` last, after all else; and it clears `back` before it changes anything.
/// So whoever reads lines in order, and finds one number in both, has read one document: had its
/// memory been used again before the last line was read, `back` had been cleared. Where a device
/// does not read in order, the checksum says it. The number is never used again, and cannot be
/// guessed, so that no document can pretend to end another one.
inline constexpr std::uint64_t kFrontAt = 56;
inline constexpr std::uint64_t kFieldsAt = 64;
inline constexpr std::uint64_t kPayloadAt = 128;

/// In host byte order.
struct Fields {
  /// Of the bytes from `ticket` to the end of the body.
  std::uint64_t checksum;
  /// Of its owner, where neighbours say that they have read it.
  std::uint32_t entry;
  std::uint32_t unused;
  /// Ticket::epoch that it was put with: a copy is kept only while that is the one of its bucket.
  std::uint64_t ticket;
  std::uint64_t name_hash;
  /// Nanoseconds since the epoch.
  std::int64_t expires;
  std::uint64_t body_bytes;
  std::uint32_t key_bytes;
  std::uint32_t variant_bytes;
  std::uint32_t validator_bytes;
  std::uint32_t metadata_bytes;
};
static_assert(sizeof(Fields) == kPayloadAt - kFieldsAt && std::is_trivially_copyable_v<Fields>);
inline constexpr std::uint64_t kSummedFrom = kFieldsAt + offsetof(Fields, ticket);

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) noexcept {
  return (bytes + to - 1) / to * to;
}
/// Where the body begins, and where `back` is; from the beginning of the block.
constexpr std::uint64_t body_at(const Fields& fields) noexcept {
  return kPayloadAt + round_up(std::uint64_t{fields.key_bytes} + fields.variant_bytes +
                                   fields.validator_bytes + fields.metadata_bytes,
                               8);
}
constexpr std::uint64_t back_at(const Fields& fields) noexcept {
  return round_up(body_at(fields) + fields.body_bytes, kLine);
}
/// What a document takes, from the beginning of the block on.
constexpr std::uint64_t bytes_of(const Fields& fields) noexcept {
  return back_at(fields) + sizeof(std::uint64_t);
}

// --- sizes in units as 10 bits: exact up to 31 units, at most 1/16 more above
// ---------------------
inline constexpr unsigned kMantissaBits = 4;
constexpr std::uint32_t code_of_units(std::uint64_t units) noexcept {
  unsigned exponent = 0;
  while (units >= 2u << kMantissaBits) {
    units = (units + 1) / 2;
    ++exponent;
  }
  return exponent << (kMantissaBits + 1) | static_cast<std::uint32_t>(units);
}
constexpr std::uint64_t units_of_code(std::uint32_t code) noexcept {
  return std::uint64_t{code & ((2u << kMantissaBits) - 1)} << (code >> (kMantissaBits + 1));
}
/// What a block has that is to hold `bytes`.
constexpr std::uint64_t units_for(std::uint64_t bytes) noexcept {
  return units_of_code(code_of_units((bytes + kUnit - 1) / kUnit));
}

// --- words of the directory: bits 63..48 tag, 47..36 process + 1, 35..26 size, 25..0 block
// --------
/// Says where a document may be; 0: nothing. What it says is only believed after the document was
/// read and examined.
struct Word {
  std::uint64_t value = 0;

  static constexpr Word of(std::uint64_t name_hash, std::uint16_t process, std::uint64_t units,
                           std::uint32_t block) noexcept {
    return {tag_of(name_hash) << 48 | (std::uint64_t{process} + 1) << 36 |
            std::uint64_t{code_of_units(units)} << 26 | block};
  }
  static constexpr std::uint64_t tag_of(std::uint64_t name_hash) noexcept {
    return name_hash >> 48;
  }
  constexpr explicit operator bool() const noexcept { return process_plus_1() != 0; }
  constexpr std::uint64_t tag() const noexcept { return value >> 48; }
  constexpr std::uint16_t process_plus_1() const noexcept { return (value >> 36) & 0xfff; }
  constexpr std::uint16_t process() const noexcept {
    return static_cast<std::uint16_t>(process_plus_1() - 1);
  }
  constexpr std::uint64_t units() const noexcept {
    return units_of_code(static_cast<std::uint32_t>(value >> 26) & 0x3ff);
  }
  constexpr std::uint32_t block() const noexcept {
    return static_cast<std::uint32_t>(value & 0x3ff'ffff);
  }
  friend constexpr bool operator==(const Word&, const Word&) noexcept = default;
};
inline constexpr std::uint32_t kMaxProcesses = 0xffe;
inline constexpr std::uint64_t kMaxUnits = 1u << 26;
static_assert(code_of_units(kMaxUnits) < 1u << 10 && units_of_code(code_of_units(1000)) >= 1000);

/// A cache line of the directory. `epoch` counts the invalidations of its keys, from a number on
/// that is its process' own, so that those of different homes are never equal; only the processor
/// of its process changes it. The other words are changed by compare-and-swap from everywhere.
inline constexpr unsigned kEpochBits = 48;
struct alignas(kLine) Bucket {
  static constexpr std::size_t kWords = 7;
  std::uint64_t epoch;
  std::array<Word, kWords> words;
};
static_assert(sizeof(Bucket) == kLine);

/// Bytes of key and variant at most.
inline constexpr std::uint64_t kNameMost = std::uint64_t{64} << 10;

/// One of so many parts of the memory for documents is added for what passes through.
inline constexpr std::uint32_t kPassingPart = 8;
constexpr std::uint64_t passing_units(std::uint64_t units) noexcept {
  return units < kPassingPart ? 1 : units / kPassingPart;
}

/// Words of one byte that neighbours set when they have read a document, by the number of its
/// entry.
inline constexpr std::uint32_t kTouches = 1u << 16;

}  // namespace caching::detail
