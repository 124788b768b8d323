// SPDX-License-Identifier: MIT
// An allocator's record of one piece that it hands out: who uses it, and until when.
#pragma once

#include <cstdint>

#include "dtutils/retire_tags.hpp"

namespace dtutils::detail {

struct MemorySlot;

/// An allocator that is told when a piece comes back.
class MemoryOwner {
 public:
  /// Called when the last handle on the piece is gone, by the thread that destroyed it. The tags
  /// may not be done yet.
  virtual void take_back(MemorySlot& slot) noexcept = 0;

 protected:
  ~MemoryOwner() = default;
};

/// Kept by the allocator, outside of the memory itself, so that a peer which writes where it should
/// not cannot harm it. Between the creation of the first RDMAMemory and the destruction of the last
/// one it belongs to the thread that holds them; otherwise to the allocator.
struct MemorySlot {
  /// When the device lets go of the piece.
  RetireTags tags;
  /// Empty for allocators that look at `handles` themselves.
  MemoryOwner* owner = nullptr;
  /// RDMAMemory objects that share the piece.
  std::uint32_t handles = 0;

  /// Nobody holds the piece, and the device has let go of it.
  bool reusable() const noexcept { return handles == 0 && tags.done(); }
};

}  // namespace dtutils::detail
