// SPDX-License-Identifier: MIT
// The part of several buffers that is not done yet.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace preload {

inline std::size_t length_of(std::span<const iovec> buffers) noexcept {
  std::size_t length = 0;
  for (const iovec& buffer : buffers) length += buffer.iov_len;
  return length;
}

/// Walks through the buffers of a call. A window holds some of them at most, since a stream takes
/// what it can anyway.
class Buffers {
 public:
  static constexpr std::size_t kWindow = 16;
  using Window = std::array<iovec, kWindow>;

  explicit Buffers(std::span<const iovec> buffers) noexcept : buffers_(buffers) { pass(); }

  bool empty() const noexcept { return index_ == buffers_.size(); }
  std::size_t done() const noexcept { return done_; }
  /// Whether there are more buffers, of which the next one is untouched.
  bool between() const noexcept { return !empty() && offset_ == 0; }

  /// The next buffers, of `limit` bytes together at most, in `window` from its place `first` on.
  std::span<iovec> next(Window& window, std::size_t limit, std::size_t first = 0) const noexcept {
    std::size_t count = first;
    std::size_t offset = offset_;
    for (std::size_t i = index_; i < buffers_.size() && count < kWindow && limit != 0; ++i) {
      const std::size_t length = std::min(buffers_[i].iov_len - offset, limit);
      if (length != 0) {
        window[count++] = {static_cast<std::byte*>(buffers_[i].iov_base) + offset, length};
      }
      limit -= length;
      offset = 0;
    }
    return std::span(window).first(count);
  }

  void advance(std::size_t bytes) noexcept {
    done_ += bytes;
    while (bytes != 0) {
      const std::size_t piece = std::min(bytes, buffers_[index_].iov_len - offset_);
      offset_ += piece;
      bytes -= piece;
      pass();
    }
  }

 private:
  /// Leaves buffers that are done, also those that are empty.
  void pass() noexcept {
    while (index_ < buffers_.size() && offset_ == buffers_[index_].iov_len) {
      ++index_;
      offset_ = 0;
    }
  }

  std::span<const iovec> buffers_;
  std::size_t index_ = 0;
  std::size_t offset_ = 0;
  std::size_t done_ = 0;
};

}  // namespace preload
