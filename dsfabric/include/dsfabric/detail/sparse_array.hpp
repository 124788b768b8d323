// SPDX-License-Identifier: MIT
// An array by process of what is only there for processes that are used.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "dtutils/limits.hpp"

namespace dsfabric::detail {

/// Its elements come to be, value-initialized, in blocks of 64 when one of them is first asked for;
/// before that they cost an eighth of a byte each. No element ever moves, and no other data is in
/// the lines of a block.
template <class T>
class SparseArray {
 public:
  /// Of `size` elements, none of which is there. Setup only.
  explicit SparseArray(std::size_t size)
      : count_(size / kBlock + 1), blocks_(std::make_unique<std::atomic<Block*>[]>(count_)) {}
  SparseArray(const SparseArray&) = delete;
  SparseArray& operator=(const SparseArray&) = delete;
  ~SparseArray() {
    for (std::size_t i = 0; i < count_; ++i) delete blocks_[i].load(std::memory_order_relaxed);
  }

  /// Makes its block when that is not there: then it allocates, and may throw std::bad_alloc. One
  /// thread at a time.
  T& at(std::size_t index) {
    std::atomic<Block*>& place = blocks_[index / kBlock];
    Block* block = place.load(std::memory_order_relaxed);
    if (block == nullptr) [[unlikely]] {
      block = new Block();
      // Release: pairs with find().
      place.store(block, std::memory_order_release);
    }
    return block->values[index % kBlock];
  }
  /// nullptr: it is not there. Any thread, wait-free.
  T* find(std::size_t index) const noexcept {
    Block* const block = blocks_[index / kBlock].load(std::memory_order_acquire);
    return block != nullptr ? &block->values[index % kBlock] : nullptr;
  }
  /// Calls `visit` with each element that is there. Any thread, wait-free.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < count_; ++i) {
      Block* const block = blocks_[i].load(std::memory_order_acquire);
      if (block == nullptr) continue;
      for (T& value : block->values) visit(value);
    }
  }

 private:
  static constexpr std::size_t kBlock = 64;
  struct alignas(dtutils::kCacheLine) Block {
    std::array<T, kBlock> values{};
  };

  const std::size_t count_;
  const std::unique_ptr<std::atomic<Block*>[]> blocks_;
};

}  // namespace dsfabric::detail
