// SPDX-License-Identifier: MIT
// How a stream takes memory while it is in use, and does without where there is none.
#include "later_memory.hpp"

#include <exception>

namespace streams {

bool LaterMemory::take(dtutils::ProtectionDomain& domain, std::size_t bytes) noexcept {
  try {
    segment_.emplace(bytes, dtutils::PageKind::kSmall, -1);
    if (segment_->try_take_pages(0, segment_->size())) {
      region_.emplace(domain, segment_->data(), segment_->size());
      return true;
    }
  } catch (const std::exception&) {
    // An Error of the segment or of the device, or no memory for it: the stream goes on without.
  }
  segment_.reset();
  return false;
}

}  // namespace streams
