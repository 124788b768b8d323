// SPDX-License-Identifier: MIT
// Pointers into global memory, which know the generation of what they point to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "dsfabric/ids.hpp"
#include "dsfabric/travels.hpp"

namespace memory {

/// What a segment is for.
enum class Kind : std::uint8_t {
  /// Has a version: readers see whole values, and may cache them. Atomics are calls to its home.
  kVersioned,
  /// Bytes for one-sided operations: reads, writes and atomics are one-sided, no version changes,
  /// nothing is cached, and a reader may see half of a write of more than 8 bytes.
  kPlain,
};

/// A place in global memory, as it travels:
///
///   byte  0         8                   12       16     20
///         | place   | generation | kind | length | type | first |
///
/// Trivially copyable; all zeros name nothing.
struct Place {
  /// Bits 63..48 process, 47..40 index of the zone there, 39..0 offset of the segment's header.
  std::uint64_t place = 0;
  /// Bits 23..0 generation of the segment, 31..24 Kind.
  std::uint32_t tag = 0;
  /// Bytes of the segment.
  std::uint32_t length = 0;
  /// What the segment was allocated for (type_number).
  std::uint32_t type = 0;
  /// The byte that it points to, from the beginning of the segment.
  std::uint32_t first = 0;

  /// Where the segment lives.
  dsfabric::ProcessId home() const noexcept { return {static_cast<std::uint16_t>(place >> 48)}; }
  /// Index into ProcessInfo::zones of the home.
  std::uint32_t zone() const noexcept { return static_cast<std::uint32_t>(place >> 40) & 0xff; }
  /// Of the header, in the memory of that zone.
  std::uint64_t offset() const noexcept { return place & ((std::uint64_t{1} << 40) - 1); }
  /// Differs from that of all segments that were at this place before; never 0.
  std::uint32_t generation() const noexcept { return tag & 0xff'ffff; }
  /// What the segment is for.
  Kind kind() const noexcept { return static_cast<Kind>(tag >> 24); }
  /// What `first` is at places that no segment has.
  static constexpr std::int64_t kNowhere = 0xffff'ffff;
  /// Goes on by so many bytes, at most kNowhere in either direction; out of reach, it stays there.
  void move(std::int64_t bytes) noexcept {
    const std::int64_t to = std::int64_t{first} + bytes;
    first =
        static_cast<std::uint32_t>(first == kNowhere || to < 0 || to > kNowhere ? kNowhere : to);
  }
  friend bool operator==(const Place&, const Place&) = default;
};
static_assert(sizeof(Place) == 24 && std::is_trivially_copyable_v<Place>);

/// A number for the name, the size and the alignment of T: the same in all programs that one
/// compiler made. 0 stands for std::byte, which fits everything.
template <class T>
constexpr std::uint32_t type_number() noexcept {
  if constexpr (std::is_same_v<T, std::byte>) {
    return 0;
  } else {
    std::uint32_t hash = 2166136261u;
    for (const char c : std::string_view(__PRETTY_FUNCTION__)) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    }
    hash = (hash ^ sizeof(T)) * 16777619u;
    hash = (hash ^ alignof(T)) * 16777619u;
    return hash == 0 ? 1 : hash;
  }
}

/// Points to a T, or to one of an array of them, in a segment of a Space. Capture it, send it,
/// store it in global memory. Nobody gets an address out of it: Client reads and writes what it
/// points to.
///
/// dsfabric::GlobalPtr<T> is another thing: the address of an object of one process, which only
/// handlers in that process use, and which dangles when the object is gone. This one is refused
/// (Status::kFreed) when its segment was freed. Any thread, wait-free.
template <class T>
class GlobalPtr {
  static_assert(dsfabric::PlainData<T>,
                "cariama: global memory holds plain data (trivially copyable, no pointers)");

 public:
  /// Points to nothing.
  constexpr GlobalPtr() noexcept = default;
  /// For Client, and for who stores places without types. The types are compared by each operation.
  explicit GlobalPtr(const Place& place) noexcept : place_(place) {}

  /// Whether it points to something.
  explicit operator bool() const noexcept { return place_.generation() != 0; }
  /// The process that the segment lives in.
  dsfabric::ProcessId home() const noexcept { return place_.home(); }
  /// Elements from here to the end of the segment.
  std::size_t size() const noexcept {
    return place_.first > place_.length ? 0 : (place_.length - place_.first) / sizeof(T);
  }
  /// The element `elements` further on, in the same segment. Before its beginning or beyond its
  /// end: operations refuse it. One that is farther away than a segment can reach is refused
  /// whatever is added to it.
  GlobalPtr operator+(std::int64_t elements) const noexcept {
    constexpr std::int64_t kSize = sizeof(T);
    const bool reaches =
        elements <= Place::kNowhere / kSize && elements >= -(Place::kNowhere / kSize);
    GlobalPtr moved = *this;
    moved.place_.move(reaches ? elements * kSize : Place::kNowhere);
    return moved;
  }
  /// The 8-byte (or other) part at byte `offset` of this element, for atomics and short reads. The
  /// type is not checked any more.
  template <class Part>
  GlobalPtr<Part> part(std::size_t offset) const noexcept {
    Place moved = place_;
    moved.move(offset < Place::kNowhere ? static_cast<std::int64_t>(offset) : Place::kNowhere);
    moved.type = 0;
    return GlobalPtr<Part>(moved);
  }
  /// As it travels.
  const Place& place() const noexcept { return place_; }
  friend bool operator==(const GlobalPtr&, const GlobalPtr&) = default;

 private:
  Place place_;
};
static_assert(std::is_trivially_copyable_v<GlobalPtr<int>> &&
              std::is_standard_layout_v<GlobalPtr<int>> && sizeof(GlobalPtr<int>) == 24);

}  // namespace memory
