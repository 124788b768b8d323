// SPDX-License-Identifier: MIT
// Reserving, mapping and letting go of a control segment's address range.
#include "shm/segment_map.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "dtutils/error.hpp"

namespace dtutils::shm {
namespace {

/// The unit in which the arena is mapped.
constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::size_t kTables = offsetof(ControlSegment, arena);
static_assert(kArenaSize % kBlock == 0);

[[noreturn]] void refuse_mapping() {
  throw Error("shm",
              "a part of the control segment (1.1 GB of address space, used sparsely) was refused",
              "raise `ulimit -v`, or `ulimit -l` if all memory is locked", errno);
}

}  // namespace

SegmentMap::SegmentMap(Open open) : open_(std::move(open)), mapped_(kArenaSize / kBlock) {
  const Descriptor file = open_();
  void* const base = mmap(nullptr, sizeof(ControlSegment), PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) refuse_mapping();
  base_ = static_cast<std::byte*>(base);
  try {
    map(file, 0, kTables);
  } catch (...) {
    munmap(base_, sizeof(ControlSegment));
    throw;
  }
}

SegmentMap::~SegmentMap() { munmap(base_, sizeof(ControlSegment)); }

void SegmentMap::map(const Descriptor& file, std::size_t begin, std::size_t length) {
  void* const mapped =
      mmap(base_ + begin, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
           file.get(), static_cast<off_t>(begin));
  if (mapped == MAP_FAILED) refuse_mapping();
  madvise(mapped, length, MADV_DONTDUMP);
}

void SegmentMap::map_arena(std::uint64_t offset, std::uint64_t length) {
  const std::scoped_lock lock(mutex_);
  Descriptor file;
  for (std::size_t block = offset / kBlock; block * kBlock < offset + length; ++block) {
    if (mapped_[block]) continue;
    if (!file) file = open_();
    map(file, kTables + block * kBlock, kBlock);
    mapped_[block] = true;
  }
}

}  // namespace dtutils::shm
