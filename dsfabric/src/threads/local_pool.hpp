// SPDX-License-Identifier: MIT
// Buffers of the messages that a thread sends to its own process, which go through no device.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "dtutils/limits.hpp"
#include "threads/inbox.hpp"

namespace dsfabric {

/// Buffers of one size. They are used again and again, the last one first; when none is left, their
/// number doubles. Plain memory, since no device writes them.
///
/// Owner thread only, except give_back.
class LocalPool {
 public:
  /// Buffers of `bytes` bytes; `limit` bytes of them at most, but one group at least. Allocates
  /// nothing.
  LocalPool(std::size_t bytes, std::size_t limit) noexcept;
  LocalPool(const LocalPool&) = delete;
  LocalPool& operator=(const LocalPool&) = delete;

  /// A buffer whose data is aligned to a cache line; nullptr when all that the limit allows are in
  /// use. With `beyond_limit` there is always one. Throws std::bad_alloc.
  ReceiveBuffer* take(bool beyond_limit);
  /// The owner thread gives one back.
  void put_back(ReceiveBuffer& buffer) noexcept {
    buffer.next.store(spares_, std::memory_order_relaxed);
    spares_ = &buffer;
  }
  /// Any other thread gives one back, lock-free.
  void give_back(ReceiveBuffer& buffer) noexcept;

  /// Buffers made so far. For tests.
  std::size_t buffers() const noexcept { return made_; }

 private:
  static constexpr std::size_t kFirstGroup = 16;
  /// The ReceiveBuffer has a line of its own before its data.
  struct alignas(dtutils::kCacheLine) Line {
    std::byte bytes[dtutils::kCacheLine];
  };
  static_assert(sizeof(ReceiveBuffer) <= sizeof(Line));

  void grow();

  const std::size_t lines_;
  const std::size_t limit_;
  std::size_t made_ = 0;
  std::vector<std::unique_ptr<Line[]>> groups_;
  ReceiveBuffer* spares_ = nullptr;
  /// Given back by others since the owner last looked.
  alignas(dtutils::kCacheLine) std::atomic<ReceiveBuffer*> returned_{nullptr};
};

/// The buffers of one thread, in two sizes.
struct LocalPools {
  LocalPools(std::size_t receive_size, std::size_t limit) noexcept;
  /// As LocalPool::take, for a message of `bytes` bytes with its header.
  ReceiveBuffer* take(std::size_t bytes, bool beyond_limit);
  bool owns(const ReceiveBuffer& buffer) const noexcept {
    return buffer.pool == &small || buffer.pool == &large;
  }

  LocalPool small;
  LocalPool large;
};

}  // namespace dsfabric
