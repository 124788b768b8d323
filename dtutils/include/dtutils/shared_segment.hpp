// SPDX-License-Identifier: MIT
// A memfd mapping that peers on the same host can map too: where registered memory comes from.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace dtutils {

enum class PageKind { kHuge1GB, kHuge2MB, kTransparentHuge, kSmall };

const char* to_string(PageKind kind) noexcept;

/// Owns one anonymous memory file and its mapping in this process. Nothing of it has a name in a
/// file system, so nothing can stay behind. The shm device finds the segment of a registered
/// address through `find`, which is how a peer comes to write into it without a system call.
class SharedSegment {
 public:
  /// Maps `length` bytes (rounded up to the page size) on pages of `kind`, bound to NUMA node
  /// `node` (-1: anywhere). Throws Error when the system has no such pages or no memory; pages are
  /// reserved at once for huge pages, on first touch otherwise. Setup only.
  SharedSegment(std::size_t length, PageKind kind, int node);
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;
  ~SharedSegment();

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  PageKind page_kind() const noexcept { return kind_; }

  /// Where an address range of this process lies in a memory file.
  struct Location {
    int fd;
    /// Identity of the file, which a peer checks after it opened it.
    unsigned long inode;
    std::size_t offset;
    std::byte* segment;
    std::size_t segment_size;
  };
  /// The segment that holds all of [address, address + length), if one does. Any thread (takes a
  /// lock; setup only).
  static std::optional<Location> find(const void* address, std::size_t length);

 private:
  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  PageKind kind_;
};

}  // namespace dtutils
