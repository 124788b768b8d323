// SPDX-License-Identifier: MIT
// Memory for some stacks, each with a guard page below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace riutils::detail {

/// Owns one mapping: guard | stack | guard | stack | ... Pages take memory when they are touched.
class StackSlab {
 public:
  /// `size` bytes each, a multiple of the page size. Throws Error when the kernel refuses. Setup
  /// only.
  StackSlab(std::uint32_t count, std::size_t size);
  StackSlab(StackSlab&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), count_(other.count_), size_(other.size_) {}
  StackSlab& operator=(StackSlab&&) = delete;
  ~StackSlab();

  std::uint32_t count() const noexcept { return count_; }
  std::span<std::byte> stack(std::uint32_t index) const noexcept;
  /// Leaves the memory to whoever may still write to it.
  void abandon() noexcept { base_ = nullptr; }

 private:
  std::byte* base_;
  std::uint32_t count_;
  std::size_t size_;
};

}  // namespace riutils::detail
