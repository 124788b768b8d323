// SPDX-License-Identifier: MIT
// Registered memory in segments of any size, laid one after the other into the units of a ring.
#pragma once

#include <cstddef>
#include <optional>

#include "dtutils/circular_allocator.hpp"

namespace dtutils {

/// As CircularAllocator, without the waste of a whole unit for a small piece (Seriema 4.2).
/// Segments of one unit share its tags: the unit is used again when all its segments are gone and
/// the last use of each queue pair on any of them is over.
///
/// Owner thread only, also for the segments. The source outlives it; it outlives its segments.
class LinearCircularAllocator {
 public:
  /// Throws Error, as CircularAllocator does. Setup only.
  explicit LinearCircularAllocator(RDMAAllocator& source,
                                   const CircularAllocatorOptions& options = {.unit_size = 16 *
                                                                                           kPage})
      : units_(source, options) {}

  /// `bytes` at a multiple of `alignment`, a power of two up to kCacheLine. Empty when `bytes` is 0
  /// or above max_segment() (then it never succeeds), or when the next unit is not free and the
  /// ring cannot grow (then let work requests retire and try again). Contract as
  /// CircularAllocator::allocate.
  [[nodiscard]] std::optional<RDMAMemory> allocate(std::size_t bytes,
                                                   std::size_t alignment = 8) noexcept {
    const std::size_t begin = (used_ + alignment - 1) & ~(alignment - 1);
    if (bytes != 0 && begin <= unit_.size() && bytes <= unit_.size() - begin) {
      used_ = begin + bytes;
      return unit_.part(begin, bytes);
    }
    return allocate_in_next(bytes);
  }

  /// The largest segment: one unit.
  std::size_t max_segment() const noexcept { return units_.unit_size(); }
  /// The ring below: to grow it, to collect, to ask for its size.
  CircularAllocator& ring() noexcept { return units_; }

  /// Checks the ring; for tests.
  bool invariant() const noexcept { return units_.invariant() && used_ <= units_.unit_size(); }

 private:
  std::optional<RDMAMemory> allocate_in_next(std::size_t bytes) noexcept;

  CircularAllocator units_;
  /// The unit that segments are cut from, and its bytes that are behind us.
  RDMAMemory unit_;
  std::size_t used_ = 0;
};

}  // namespace dtutils
