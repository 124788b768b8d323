// SPDX-License-Identifier: MIT
// Bytes that were taken off a stream before the program asked for them.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "streams/stream.hpp"

namespace preload {

/// What a program receives while it waits in a send, as the buffers of TCP would: its peer may wait
/// in a send as well. With the mutex of the connection held.
class ReadAhead {
 public:
  /// Near what TCP takes on one host.
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  std::size_t size() const noexcept { return end_ - begin_; }
  bool has_room() const noexcept { return size() < kMost; }
  /// Takes what has arrived, as far as there are room and memory. Whether it was anything.
  bool fill(streams::Stream& stream) noexcept {
    const std::size_t before = size();
    if (stream.readable() == 0) return false;
    if (bytes_ == nullptr) bytes_.reset(new (std::nothrow) std::byte[kMost]);
    if (bytes_ == nullptr) return false;
    if (begin_ != 0) std::memmove(bytes_.get(), bytes_.get() + begin_, before);
    begin_ = 0;
    end_ = before;
    while (end_ != kMost) {
      const std::size_t bytes =
          stream.try_receive(std::span(bytes_.get() + end_, kMost - end_)).bytes;
      if (bytes == 0) break;
      end_ += bytes;
    }
    return size() != before;
  }
  /// Copies as many of the oldest bytes as fit. They stay.
  std::size_t copy(std::span<const iovec> into) const noexcept {
    std::size_t done = 0;
    for (const iovec& part : into) {
      const std::size_t bytes = std::min(part.iov_len, size() - done);
      if (bytes == 0) continue;
      std::memcpy(part.iov_base, bytes_.get() + begin_ + done, bytes);
      done += bytes;
    }
    return done;
  }
  /// Forgets the oldest bytes.
  void drop(std::size_t bytes) noexcept { begin_ += bytes; }
  /// Forgets all, and gives the memory back.
  void clear() noexcept {
    begin_ = end_ = 0;
    bytes_.reset();
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace preload
