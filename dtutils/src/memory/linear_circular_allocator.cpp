// SPDX-License-Identifier: MIT
// What happens when a segment does not fit behind the last one.
#include "dtutils/linear_circular_allocator.hpp"

#include <utility>

namespace dtutils {

std::optional<RDMAMemory> LinearCircularAllocator::allocate_in_next(std::size_t bytes) noexcept {
  if (bytes == 0 || bytes > max_segment()) {
    return std::nullopt;
  }
  // The unit at hand may be free from its start again; in a ring of one unit it is the next one.
  if (!unit_.unshared() || !unit_.retired()) {
    std::optional<RDMAMemory> next = units_.allocate();
    if (!next) {
      return std::nullopt;
    }
    unit_ = std::move(*next);
  }
  used_ = bytes;
  return unit_.part(0, bytes);
}

}  // namespace dtutils
