// SPDX-License-Identifier: MIT
// Several buffers that are used as if they were one.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace streams {

/// Bytes of all of them.
inline std::size_t total_of(std::span<const iovec> buffers) noexcept {
  std::size_t total = 0;
  for (const iovec& buffer : buffers) total += buffer.iov_len;
  return total;
}

/// Walks through their bytes.
class Cursor {
 public:
  explicit Cursor(std::span<const iovec> buffers) noexcept : buffers_(buffers) {}

  /// Calls `step(address, done, length)` for the pieces of the next `limit` bytes at most; returns
  /// how many there were.
  template <class Step>
  std::size_t advance(std::size_t limit, Step step) noexcept {
    std::size_t done = 0;
    while (done < limit && index_ < buffers_.size()) {
      const iovec& buffer = buffers_[index_];
      const std::size_t piece = std::min(limit - done, buffer.iov_len - offset_);
      if (piece != 0) step(static_cast<std::byte*>(buffer.iov_base) + offset_, done, piece);
      done += piece;
      offset_ += piece;
      if (offset_ == buffer.iov_len) {
        ++index_;
        offset_ = 0;
      }
    }
    return done;
  }

  /// The next piece that lies in one buffer, of `limit` bytes at most: `step(address, length)`. It
  /// comes again when the answer is false.
  template <class Step>
  void advance_piece(std::size_t limit, Step step) noexcept {
    while (index_ < buffers_.size() && offset_ == buffers_[index_].iov_len) {
      ++index_;
      offset_ = 0;
    }
    if (index_ == buffers_.size()) return;
    const iovec& buffer = buffers_[index_];
    const std::size_t piece = std::min(limit, buffer.iov_len - offset_);
    if (step(static_cast<std::byte*>(buffer.iov_base) + offset_, piece)) offset_ += piece;
  }

 private:
  std::span<const iovec> buffers_;
  std::size_t index_ = 0;
  std::size_t offset_ = 0;
};

}  // namespace streams
