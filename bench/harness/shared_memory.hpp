// SPDX-License-Identifier: MIT
// Anonymous memory that a bench shares with the processes that it forks.
#pragma once

#include <cstddef>

namespace bench {

/// Zeroed, page-aligned memory that stays shared across fork(). Create it in main() before
/// Suite::run(): then all processes of the bench see it at the same address. It is what "raw"
/// variants (a hand-written ring, a bare memcpy) work on. Nothing stays behind at exit.
/// Setup only. Throws std::system_error when the kernel refuses. Source: mmap(2).
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return bytes_; }

  /// The memory at `offset` as a T. Creates nothing: T must be valid when all its bytes are zero.
  template <class T>
  T* as(std::size_t offset = 0) const noexcept {
    return reinterpret_cast<T*>(data_ + offset);
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace bench
