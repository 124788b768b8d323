// SPDX-License-Identifier: MIT
// Memory for the frames of coroutines, used again and again.
#pragma once

#include <cstddef>

namespace dsfabric::detail {

/// Base of promises whose frames come from a pool of the calling thread: a frame of at most 4 KiB
/// allocates nothing when one of its size was freed there before. Any thread; a frame goes to the
/// pool of the thread that frees it.
struct PooledFrame {
  static void* operator new(std::size_t bytes);
  static void operator delete(void* frame, std::size_t bytes) noexcept;
};

}  // namespace dsfabric::detail
