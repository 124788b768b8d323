// SPDX-License-Identifier: MIT
// Registrations of the user's memory that are kept, since most programs send from, and receive
// into, the same few buffers.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "dtutils/memory_region.hpp"

namespace streams {

/// For the shm device, on which a region of memory that peers cannot map is no more than the
/// permission to copy from those addresses: whatever lies there when somebody copies is copied, so
/// a region may outlive the memory. Owner thread only.
class RegionBook {
 public:
  /// `access`: see Device::reg_mr.
  RegionBook(dtutils::ProtectionDomain& domain, int access) noexcept
      : domain_(domain), access_(access) {}

  /// A region that holds all of [address, address + size). nullptr: it cannot be registered, or it
  /// lies in a SharedSegment, which peers map. Registers, by system calls, when no region that is
  /// kept does; the oldest one makes room.
  const dtutils::MemoryRegion* find(std::byte* address, std::size_t size) noexcept;

 private:
  static constexpr std::size_t kKept = 4;

  dtutils::ProtectionDomain& domain_;
  int access_;
  std::array<std::unique_ptr<dtutils::MemoryRegion>, kKept> regions_;
  std::size_t oldest_ = 0;
};

}  // namespace streams
