// SPDX-License-Identifier: MIT
// Registered memory that a stream gets while it is in use.
#pragma once

#include <cstddef>
#include <optional>

#include "dtutils/memory_region.hpp"
#include "dtutils/protection_domain.hpp"
#include "dtutils/shared_segment.hpp"

namespace streams {

/// None at first. Owner thread only.
class LaterMemory {
 public:
  /// So many bytes, with all their pages: once in a stream's life, a few system calls. False: the
  /// kernel has no memory, or the device registers no more.
  bool take(dtutils::ProtectionDomain& domain, std::size_t bytes) noexcept;

  /// Only once it was taken.
  const dtutils::MemoryRegion& region() const noexcept { return *region_; }

 private:
  std::optional<dtutils::SharedSegment> segment_;
  std::optional<dtutils::MemoryRegion> region_;
};

}  // namespace streams
