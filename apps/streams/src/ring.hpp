// SPDX-License-Identifier: MIT
// Where the bytes of a direction lie in the ring of its receiver, which may grow once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace streams {

/// Bytes of a ring: at first, and when it has grown; not more than at first: it never grows.
struct RingSizes {
  /// A size alone is a ring that never grows.
  constexpr RingSizes(std::uint32_t at_first, std::uint32_t grown = 0) noexcept
      : initial(at_first), larger(grown > at_first ? grown : 0) {}
  std::uint32_t initial;
  std::uint32_t larger;
};

/// As each of the two sides knows it. Places in the larger ring are counted behind those in the
/// first one, wherever it lies:
///
///   byte  0              initial
///         | first ring   | larger ring             |
///
/// Byte n of the stream lies in byte n % initial of the first ring, or, from the byte on that the
/// sender has chosen, in byte n % larger of the larger one. So bytes of both are apart, however
/// many are in flight. Owner thread only.
class Ring {
 public:
  explicit Ring(RingSizes sizes) noexcept : size_(sizes.initial), sizes_(sizes) {}

  /// Bytes that may be in flight.
  std::uint32_t size() const noexcept { return size_; }
  bool has_grown() const noexcept { return size_ != sizes_.initial; }
  bool may_grow() const noexcept { return size_ < sizes_.larger; }
  /// The first byte of the larger ring. Only of one that has grown.
  std::uint64_t grown_at() const noexcept { return grown_at_; }
  /// Bytes of the first ring, and of the larger one.
  const RingSizes& sizes() const noexcept { return sizes_; }
  void grow(std::uint64_t at) noexcept {
    grown_at_ = at;
    size_ = sizes_.larger;
  }

  struct Place {
    /// Of the byte, from the beginning of the first ring.
    std::size_t offset;
    /// How many lie there in one piece, at least one.
    std::size_t run;
  };
  Place place_of(std::uint64_t byte) const noexcept {
    if (byte >= grown_at_) {
      const std::size_t at = byte & (sizes_.larger - 1);
      return {sizes_.initial + at, sizes_.larger - at};
    }
    const std::size_t at = byte & (sizes_.initial - 1);
    return {at, std::min<std::uint64_t>(sizes_.initial - at, grown_at_ - byte)};
  }

 private:
  std::uint32_t size_;
  RingSizes sizes_;
  std::uint64_t grown_at_ = UINT64_MAX;
};

}  // namespace streams
