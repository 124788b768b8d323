// SPDX-License-Identifier: MIT
// Wire format: a segment at its home, its version words and its lock word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "memory/global_ptr.hpp"
#include "memory/status.hpp"

namespace memory::detail {

/// Before the bytes of each segment, on a cache line of its own, in host byte order:
///
///   byte  0      8      12       48       52     56        64
///         | lock | type | unused | length | kind | version | data ...
///
/// Length and kind are those of the generation in the version: a READ that brings all three shows
/// whether a pointer is right about the segment.
/// A place that once was a header stays one forever, so an old pointer finds a version there, and
/// that has another generation. The data of a versioned segment follow in one of two layouts:
///
///   in order   | data, rounded up to 8 | back |       one READ brings [head, data, back]
///   lines      | front | 48 bytes | back | ...        each cache line has the version at both ends
///
/// The first is right where a READ fetches bytes in ascending order (DeviceInfo::reads_in_order);
/// the second where a device only fetches the bytes of each line ascending, or at once.
struct Header {
  /// See LockWord below.
  std::uint64_t lock;
  /// type_number of what it was allocated for.
  std::uint32_t type;
  std::uint32_t unused[9];
  /// Bytes of the segment.
  std::uint32_t length;
  /// A Kind.
  std::uint32_t kind;
  /// See below.
  std::uint64_t version;
};
inline constexpr std::uint64_t kHeader = 64;
inline constexpr std::uint64_t kHeadAt = 48;
inline constexpr std::uint64_t kVersionAt = 56;
inline constexpr std::uint64_t kWord = 8;
static_assert(sizeof(Header) == kHeader && offsetof(Header, version) == kVersionAt);
static_assert(offsetof(Header, length) == kHeadAt);
static_assert(std::is_trivially_copyable_v<Header> && std::is_standard_layout_v<Header>);

// --- version words: bits 63..40 generation, 39..2 number, 1 damaged, 0 being written ------------
/// In a `back` or `front` word: a write is under way.
inline constexpr std::uint64_t kBusy = 1;
/// A writer died in the middle of its write, or the words were written over.
inline constexpr std::uint64_t kDamagedBit = 2;
inline constexpr unsigned kGenerationShift = 40;
inline constexpr std::uint64_t kNumberMask = ((std::uint64_t{1} << kGenerationShift) - 1) & ~3u;
/// Generations of segments are odd, those of free places even; 0 is a place never used, or used up.
inline constexpr std::uint32_t kLastGeneration = 0xff'ffff;

constexpr std::uint32_t generation_of(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> kGenerationShift);
}
constexpr std::uint64_t first_version(std::uint32_t generation) noexcept {
  return std::uint64_t{generation} << kGenerationShift | 4;
}
/// The number after that of `word`, not damaged. Numbers wrap within their 38 bits.
constexpr std::uint64_t next_version(std::uint64_t word) noexcept {
  return (word & ~(kNumberMask | 3u)) | ((word + 4) & kNumberMask);
}
/// The end of a header, as a READ brings it.
struct Head {
  std::uint32_t length;
  std::uint32_t kind;
  std::uint64_t version;

  static Head at(const std::byte* bytes) noexcept {
    Head head;
    std::memcpy(&head, bytes, sizeof head);
    return head;
  }
  /// Whether a pointer is right about the segment that is there.
  Status judge(const Place& place) const noexcept {
    if (generation_of(version) != place.generation()) return Status::kFreed;
    if (kind != static_cast<std::uint32_t>(place.kind())) return Status::kForeign;
    if (length == place.length) return Status::kDone;
    return place.length > length ? Status::kOutOfRange : Status::kForeign;
  }
};
inline constexpr std::uint64_t kHeadBytes = sizeof(Head);
static_assert(kHeadAt + kHeadBytes == kHeader);
/// The word of the place once the segment of `word` is freed.
constexpr std::uint64_t freed_version(std::uint64_t word) noexcept {
  const std::uint32_t generation = generation_of(word);
  return generation == kLastGeneration ? 0 : std::uint64_t{generation + 1} << kGenerationShift;
}

// --- lock words: bits 63..48 process that writes, plus 1; 47 has subscribers; 46..0 readers ------
inline constexpr unsigned kWriterShift = 48;
inline constexpr std::uint64_t kSubscribed = std::uint64_t{1} << 47;
inline constexpr unsigned kReaderBits = 47;
inline constexpr std::uint64_t kReaders = kSubscribed - 1;

constexpr std::uint64_t writer_word(dsfabric::ProcessId process) noexcept {
  return (std::uint64_t{process.value} + 1) << kWriterShift;
}
constexpr bool has_writer(std::uint64_t lock) noexcept { return lock >> kWriterShift != 0; }

// --- layouts
// --------------------------------------------------------------------------------------
inline constexpr std::uint64_t kLine = 64;
/// Bytes of data in a line.
inline constexpr std::uint64_t kLineData = 48;
inline constexpr std::uint64_t kBackAt = 56;

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) noexcept {
  return (bytes + to - 1) / to * to;
}
constexpr std::uint64_t lines_of(std::uint64_t length) noexcept {
  return (length + kLineData - 1) / kLineData;
}
/// Bytes of header and data.
constexpr std::uint64_t slot_bytes(Kind kind, bool lines, std::uint64_t length) noexcept {
  if (kind == Kind::kPlain) return kHeader + round_up(length, kWord);
  return kHeader + (lines ? lines_of(length) * kLine : round_up(length, kWord) + kWord);
}
/// Where the `back` word of the layout in order is, from the header on.
constexpr std::uint64_t back_at(std::uint64_t length) noexcept {
  return kHeader + round_up(length, kWord);
}

/// Calls `f(offset in the line layout, offset in the data, bytes)` for each piece of the range.
template <class F>
void for_each_piece(std::uint64_t first, std::uint64_t bytes, F&& f) {
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t at = first + done;
    const std::uint64_t in_line = at % kLineData;
    const std::uint64_t piece =
        bytes - done < kLineData - in_line ? bytes - done : kLineData - in_line;
    f(at / kLineData * kLine + kWord + in_line, done, piece);
    done += piece;
  }
}

}  // namespace memory::detail
