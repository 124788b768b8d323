// SPDX-License-Identifier: MIT
// Owners of what the shm device gets from the kernel: descriptors, mappings and named pipes' ends.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "dtutils/error.hpp"
#include "shm/layout.hpp"

namespace dtutils::shm {

/// Owns a file descriptor; -1: none. Setup only.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& from) noexcept : fd_(std::exchange(from.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& from) noexcept {
    std::swap(fd_, from.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

/// Owns a shared mapping of a whole memory file of a peer; null when it was refused (see errno).
/// Setup only.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(const Descriptor& file, std::size_t size) noexcept : size_(size) {
    void* base =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
    if (base == MAP_FAILED) return;
    base_ = static_cast<std::byte*>(base);
    // Written into a core, its holes would be filled, for its owner too.
    madvise(base_, size_, MADV_DONTDUMP);
  }
  Mapping(Mapping&& from) noexcept : base_(std::exchange(from.base_, nullptr)), size_(from.size_) {}
  Mapping& operator=(Mapping&& from) noexcept {
    std::swap(base_, from.base_);
    std::swap(size_, from.size_);
    return *this;
  }
  ~Mapping() {
    if (base_ != nullptr) munmap(base_, size_);
  }
  std::byte* base() const noexcept { return base_; }
  std::size_t size() const noexcept { return size_; }
  explicit operator bool() const noexcept { return base_ != nullptr; }

 private:
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
};

/// Both ends of a pipe that peers open by its name. Setup only.
class Pipe {
 public:
  /// `what` says in an Error what it is for.
  explicit Pipe(const char* what) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
      throw Error("shm", what, "raise `ulimit -n`", errno);
    }
    read_ = Descriptor(ends[0]);
    write_ = Descriptor(ends[1]);
    struct stat status {};
    fstat(ends[1], &status);
    name_ = {ends[1], static_cast<std::uint32_t>(status.st_ino)};
  }
  int read_fd() const noexcept { return read_.get(); }
  int write_fd() const noexcept { return write_.get(); }
  const PipeName& name() const noexcept { return name_; }
  void close() noexcept {
    read_ = Descriptor();
    write_ = Descriptor();
  }

 private:
  Descriptor read_;
  Descriptor write_;
  PipeName name_{-1, 0};
};

}  // namespace dtutils::shm
