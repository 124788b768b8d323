// SPDX-License-Identifier: MIT
// Looking up registrations, and making new ones.
#include "region_book.hpp"

#include <exception>

#include "dtutils/shared_segment.hpp"

namespace streams {

const dtutils::MemoryRegion* RegionBook::find(std::byte* address, std::size_t size) noexcept {
  for (const auto& region : regions_) {
    if (region != nullptr && region->data() <= address && size <= region->size() &&
        static_cast<std::size_t>(address - region->data()) <= region->size() - size) {
      return region.get();
    }
  }
  if (keeps_ && dtutils::SharedSegment::find(address, size)) return nullptr;
  try {
    auto made = std::make_unique<dtutils::MemoryRegion>(domain_, address, size, access_);
    auto& place = regions_[keeps_ ? oldest_++ % kKept : 0];
    place = std::move(made);
    return place.get();
  } catch (const std::exception&) {
    return nullptr;  // The bytes are copied instead.
  }
}

}  // namespace streams
