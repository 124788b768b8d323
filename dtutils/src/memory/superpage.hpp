// SPDX-License-Identifier: MIT
// One registered segment and the bitmap of its chunks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dtutils/detail/memory_slot.hpp"
#include "dtutils/memory_region.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/shared_segment.hpp"

namespace dtutils {

class Superpage;

/// The record of a chunk; that of a row of chunks is the record of its first one.
struct ChunkRecord : detail::MemorySlot {
  Superpage* home = nullptr;
  /// Length of the row that starts here; 0 while no claimed row does.
  std::size_t chunks = 0;
  /// In RDMAAllocator's quarantine.
  ChunkRecord* next = nullptr;
};

/// A bit for each chunk, set while the chunk is claimed. A row of chunks is claimed word by word
/// and undone when another thread was faster, so a thread that stops anywhere keeps no other from
/// claiming what is free.
class Superpage {
 public:
  /// Registers the segment. `chunk` divides its size, or is all of it. Throws Error. Setup only.
  Superpage(ProtectionDomain& pd, std::unique_ptr<SharedSegment> segment, std::size_t chunk,
            int access, detail::MemoryOwner& owner, std::uint32_t queue_pairs);

  /// The record of `count` free chunks in a row, now claimed; nullptr when there are none. Any
  /// thread, lock-free.
  ChunkRecord* claim(std::size_t count) noexcept;
  /// Any thread, wait-free.
  void release(ChunkRecord& record) noexcept;

  RDMAMemory hand_out(ChunkRecord& record, NumaZone zone) noexcept;

  std::size_t size() const noexcept { return segment_->size(); }
  std::size_t chunk() const noexcept { return chunk_; }
  PageKind page_kind() const noexcept { return segment_->page_kind(); }
  /// Bytes of claimed chunks.
  std::size_t in_use() const noexcept;
  /// While nobody else uses it.
  bool invariant() const noexcept;

  /// The next superpage of the allocator.
  std::atomic<Superpage*> next{nullptr};

 private:
  bool claimed(std::size_t index) const noexcept;
  bool mark(std::size_t begin, std::size_t count) noexcept;
  void unmark(std::size_t begin, std::size_t count) noexcept;

  std::unique_ptr<SharedSegment> segment_;
  MemoryRegion region_;
  const std::size_t chunk_;
  std::vector<ChunkRecord> records_;
  std::vector<std::atomic<std::uint64_t>> words_;
};

}  // namespace dtutils
