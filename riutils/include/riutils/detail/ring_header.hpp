// SPDX-License-Identifier: MIT
// Wire format: the word in front of the calls in a ring.
#pragma once

#include <cstddef>
#include <cstdint>

namespace riutils::detail {

/// A chunk of a ring is filled from its highest address downwards:
///
///     low                                                              high
///     | ... free ... | 0 | call c-1 | ... | call 1 | call 0 | header | (earlier records)
///                      ^ next header's place           one write ----^
///
/// A record is a header and, below it, `count` calls of one function, each rounded up to 8 bytes.
/// One RDMA write carries any number of records and the zero word below them. Bytes of a write
/// land in ascending order, so the header that the receiver waits for lands last; where a device
/// does not promise that order, a second write carries that header alone. So the receiver looks
/// only at words that the sender wrote as zero or as header, never at a place where a payload was.
///
///     bit  63        62..40    39..24      23..0
///          present | count |  function |  bytes of one call
///
/// Host byte order, as everywhere. Of a control word (kControl) `bytes` is 0: the chunk ends here,
/// and `count` new chunks stand between it and the one that was next so far.
struct RingHeader {
  /// Index of the function, or kControl.
  std::uint32_t function;
  /// Calls in the record.
  std::uint32_t count;
  /// Bytes of one call.
  std::uint32_t bytes;

  /// The `function` of a control word.
  static constexpr std::uint32_t kControl = 0xffff;
  /// Functions that a program can have; their indices are below this.
  static constexpr std::uint32_t kMaxFunctions = 0xffff;
  /// The largest `bytes`.
  static constexpr std::uint32_t kMaxBytes = (1u << 24) - 1;
  /// The largest `count`.
  static constexpr std::uint32_t kMaxCount = (1u << 23) - 1;

  /// The header as the word that travels.
  constexpr std::uint64_t encode() const noexcept {
    return std::uint64_t{1} << 63 | std::uint64_t{count} << 40 | std::uint64_t{function} << 24 |
           bytes;
  }
  /// The header in a word.
  static constexpr RingHeader decode(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word >> 24) & kControl,
            static_cast<std::uint32_t>(word >> 40) & kMaxCount,
            static_cast<std::uint32_t>(word) & kMaxBytes};
  }
  /// To be added to the encoding of a header whose count is 0.
  static constexpr std::uint64_t counting(std::uint64_t count) noexcept { return count << 40; }
  /// Whether the word is a header; a zero word is none.
  static constexpr bool present(std::uint64_t word) noexcept { return word >> 63 != 0; }
};

/// What a ring carries. One worker may have a ring of each kind to another; their records keep no
/// order between them. Results run no code of users, so their ring always drains.
enum class RingKind : std::uint8_t { kCalls, kResults };

/// Bytes of a header, and of the zero word.
inline constexpr std::uint32_t kRingWord = sizeof(std::uint64_t);
/// Room that a sender needs in addition to the calls of one record: its header, the zero word, and
/// one more for the case that the zero must stay as it is in the mirror.
inline constexpr std::uint32_t kRingOverhead = 3 * kRingWord;

/// Bytes from one call of a record to the next.
constexpr std::uint32_t ring_stride(std::uint32_t bytes) noexcept {
  return (bytes + kRingWord - 1) & ~(kRingWord - 1);
}

}  // namespace riutils::detail
