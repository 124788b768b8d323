// SPDX-License-Identifier: MIT
// A queue that keeps its elements for later use, so that their own memory is used again.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace dtutils::sim {

/// Takes no memory until it is used, since there may be a million of them.
template <class T>
class Fifo {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  T& operator[](std::size_t index) noexcept { return slots_[(first_ + index) % slots_.size()]; }
  T& front() noexcept { return (*this)[0]; }

  /// The new last element, which may hold what an old one has left.
  T& push() {
    if (size_ == slots_.size()) grow();
    return (*this)[size_++];
  }
  void push(T value) { push() = std::move(value); }
  void pop() noexcept {
    first_ = (first_ + 1) % slots_.size();
    --size_;
  }
  void clear() noexcept { size_ = 0; }
  /// Removes the elements for which `gone` is true.
  template <class Gone>
  void remove(Gone gone) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      if (gone((*this)[i])) continue;
      if (kept != i) std::swap((*this)[kept], (*this)[i]);
      ++kept;
    }
    size_ = kept;
  }

 private:
  void grow() {
    std::vector<T> more(slots_.empty() ? 4 : 2 * slots_.size());
    for (std::size_t i = 0; i < size_; ++i) more[i] = std::move((*this)[i]);
    slots_ = std::move(more);
    first_ = 0;
  }

  std::vector<T> slots_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace dtutils::sim
