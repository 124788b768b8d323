// SPDX-License-Identifier: MIT
// An allocator's record of one piece that it hands out: who uses it, and until when.
#pragma once

#include <cstdint>

#include "dtutils/retire_tags.hpp"

namespace dtutils {

struct MemorySlot;

/// An allocator that wants to hear of the pieces that come back.
class MemoryOwner {
 public:
  /// The last handle on the piece is gone; its tags need not be done. In the thread that destroyed
  /// the handle.
  virtual void take_back(MemorySlot& slot) noexcept = 0;

 protected:
  ~MemoryOwner() = default;
};

/// Kept by the allocator, outside of the memory itself, so that a peer which writes where it should
/// not cannot harm it. Between the creation of the first RDMAMemory and the destruction of the last
/// one it belongs to the thread that holds them; otherwise to the allocator.
struct MemorySlot {
  RetireTags tags;
  /// Empty for allocators that look at `handles` themselves.
  MemoryOwner* owner = nullptr;
  std::uint32_t handles = 0;

  bool reusable() const noexcept { return handles == 0 && tags.done(); }
};

}  // namespace dtutils
