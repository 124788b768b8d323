// SPDX-License-Identifier: MIT
// A memfd mapping that peers on the same host can map too: where registered memory comes from.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace dtutils {

/// What the memory of a segment is made of.
enum class PageKind { kHuge1GB, kHuge2MB, kTransparentHuge, kSmall };

/// "1 GB huge pages" and so on.
const char* to_string(PageKind kind) noexcept;

/// Owns one anonymous memory file (memfd_create(2)) and its mapping in this process. Nothing of it
/// has a name in a file system, so nothing can stay behind, and it counts against neither the
/// memlock limit nor the size of /dev/shm. The shm device finds the segment of a registered address
/// through `find`, which is how a peer comes to write into it without a system call.
///
/// The file cannot change its size any more (fcntl(2), F_SEAL_SHRINK), so a peer that opened it
/// cannot take pages away. A child made by fork(2) without exec shares the bytes with its parent:
/// it must not use them, but it may destroy its copy of this object, which leaves the parent's
/// alone.
class SharedSegment {
 public:
  /// Maps `length` bytes, rounded up to the page size and filled with zeros, on pages of `kind`.
  /// The mapping starts at a multiple of that page size, and of 2 MiB if it is that long.
  ///
  /// Huge pages are taken from the pool here, on NUMA node `node` (-1: on any); when it has too few
  /// of them that is an Error, never a later SIGBUS. Transparent huge and small pages arrive at
  /// first touch, on `node` as long as it has memory, then elsewhere. Transparent huge pages are
  /// the kernel's best effort; they are refused where its setting for shared memory rules them out.
  ///
  /// Throws Error also when `length` is 0 or above the machine's memory. Setup only.
  SharedSegment(std::size_t length, PageKind kind, int node);
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;
  ~SharedSegment();

  /// The first byte. Any thread, wait-free.
  std::byte* data() const noexcept { return data_; }
  /// Bytes, rounded up to the page size. Any thread, wait-free.
  std::size_t size() const noexcept { return size_; }
  /// What its pages are. Any thread, wait-free.
  PageKind page_kind() const noexcept { return kind_; }

  /// Has the kernel allocate the pages of [offset, offset + length) now, so that no first touch of
  /// them, here or in a peer, can fail for want of memory. False, with no page more than before,
  /// when there is not so much, when the range is not inside of the segment, or when a signal came.
  /// Any thread; a system call.
  bool try_take_pages(std::size_t offset, std::size_t length) noexcept;

  /// Where an address range of this process lies in a memory file.
  struct Location {
    /// Descriptor of the file in this process.
    int fd;
    /// Identity of the file, which a peer checks after it opened it.
    unsigned long inode;
    /// Bytes from the beginning of the file to the range.
    std::size_t offset;
    /// The beginning of the mapping in this process.
    std::byte* segment;
    /// Bytes of the mapping.
    std::size_t segment_size;
  };
  /// The segment that holds all of [address, address + length), if one does. Any thread (takes a
  /// lock; setup only).
  static std::optional<Location> find(const void* address, std::size_t length);

 private:
  explicit SharedSegment(PageKind kind) noexcept : kind_(kind) {}
  std::string name() const;
  void create_file();
  void map();
  void bind(int node);
  void take_pages(int node);
  void enlist();

  int fd_ = -1;
  unsigned long inode_ = 0;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  PageKind kind_;
};

}  // namespace dtutils
