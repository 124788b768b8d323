// SPDX-License-Identifier: MIT
// Memory for the lists of one call.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>

#include "signals.hpp"

namespace preload {

/// On the stack as long as that suffices. A handler of the program that leaves the call by
/// longjmp(3) leaves the rest allocated, but never within the allocator.
class CallMemory {
 public:
  std::pmr::memory_resource* get() noexcept { return &pieces_; }

 private:
  class Heap : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
      const HoldSignals hold;
      return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
      const HoldSignals hold;
      std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
      return this == &other;
    }
  };

  std::array<std::byte, 2048> buffer_;
  Heap heap_;
  std::pmr::monotonic_buffer_resource pieces_{buffer_.data(), buffer_.size(), &heap_};
};

}  // namespace preload
