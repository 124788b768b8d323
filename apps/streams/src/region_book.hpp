// SPDX-License-Identifier: MIT
// Registrations of the user's memory.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "dtutils/memory_region.hpp"

namespace streams {

/// On the shm device a region of memory that peers cannot map is no more than the permission to
/// copy from those addresses: whatever lies there when somebody copies is copied, so a region may
/// outlive the memory. There the last few are kept, since most programs send from, and receive
/// into, the same few buffers. Elsewhere a region pins the pages that it was made of, and what the
/// program maps later at these addresses is not in it: so one is made for each use. Owner thread
/// only.
class RegionBook {
 public:
  /// `access`: see Device::reg_mr.
  RegionBook(dtutils::ProtectionDomain& domain, int access) noexcept
      : domain_(domain),
        access_(access),
        keeps_(domain.device().info().kind == dtutils::DeviceKind::kShm) {}

  /// A region that holds all of [address, address + size), until `let_go`. nullptr: it cannot be
  /// registered, or it lies in a SharedSegment, which peers map on shm. Registers, by system calls,
  /// when no region that is kept does; the oldest one makes room.
  const dtutils::MemoryRegion* find(std::byte* address, std::size_t size) noexcept;
  /// The program has its memory back: where regions are not kept, no peer reaches it any more.
  void let_go() noexcept {
    if (!keeps_) regions_[0].reset();
  }

 private:
  static constexpr std::size_t kKept = 4;

  dtutils::ProtectionDomain& domain_;
  int access_;
  bool keeps_;
  std::array<std::unique_ptr<dtutils::MemoryRegion>, kKept> regions_;
  std::size_t oldest_ = 0;
};

}  // namespace streams
