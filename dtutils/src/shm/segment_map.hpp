// SPDX-License-Identifier: MIT
// A control segment in the address space of one process: the tables whole, the arena as it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "shm/descriptor.hpp"
#include "shm/layout.hpp"

namespace dtutils::shm {

/// The memory file has its full size from the beginning, and holes where nothing was stored yet: it
/// costs what is used, and no process ever sees it grow. Each process maps the tables, and of the
/// arena only what its own queues, and those that it is connected to, lie in. So locking all memory
/// (mlockall(2)) fills no more than that. The rest of the address range is reserved, which keeps
/// addresses valid. Core dumps leave the segment out (madvise(2), MADV_DONTDUMP), since writing a
/// hole into a core would fill it for all processes. Setup only, any thread.
class SegmentMap {
 public:
  /// Gives the memory file, each time that something is to be mapped. May throw Error.
  using Open = std::function<Descriptor()>;
  /// Throws Error when the kernel refuses the address range.
  explicit SegmentMap(Open open);
  SegmentMap(const SegmentMap&) = delete;
  SegmentMap& operator=(const SegmentMap&) = delete;
  ~SegmentMap();

  ControlSegment& shared() const noexcept { return *reinterpret_cast<ControlSegment*>(base_); }
  /// Makes these bytes of the arena, which lie inside of it, accessible for good. Throws Error.
  void map_arena(std::uint64_t offset, std::uint64_t length);

 private:
  void map(const Descriptor& file, std::size_t begin, std::size_t length);

  const Open open_;
  std::byte* base_ = nullptr;
  std::mutex mutex_;
  /// By block of the arena.
  std::vector<bool> mapped_;
};

}  // namespace dtutils::shm
