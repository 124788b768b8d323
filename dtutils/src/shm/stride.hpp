// SPDX-License-Identifier: MIT
// Cache lines that the next small writes will need, asked for before they come.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dtutils/device_memory.hpp"
#include "dtutils/limits.hpp"

namespace dtutils::shm {

/// Small writes that lie equally far from each other, as those of a ring do: the peer has read the
/// lines that they go to, and a store waits for each as long as it takes to come back. A core's own
/// prefetcher does not help, because the locked instruction of each post holds it up. Under the
/// send lock.
class Stride {
 public:
  /// The next write goes to `to`.
  void follow(const std::byte* to, std::size_t length) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(to);
    const std::uintptr_t step = at - last_;
    last_ = at;
    if (step == step_) {
      const std::uintptr_t ahead = at + kAhead * step;
      for (std::size_t line = 0; line < length; line += kCacheLine) {
        fetch_for_writing(ahead + line);
      }
    }
    step_ = step;
  }

 private:
  /// In writes: 4 and 16 bring the same.
  static constexpr std::uintptr_t kAhead = 8;

  std::uintptr_t last_ = 0;
  /// From the write before the last one to that; backwards it is a number that wraps around.
  std::uintptr_t step_ = 0;
};

}  // namespace dtutils::shm
