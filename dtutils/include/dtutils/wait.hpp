// SPDX-License-Identifier: MIT
// How a thread waits when there may be more threads than cores: spin, then yield, then sleep.
#pragma once

#include <chrono>
#include <cstdint>

#include "dtutils/limits.hpp"

namespace dtutils {

/// Tells the CPU that this is a spin loop.
inline void cpu_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// One waiting loop's patience. Call `pause()` after each poll that found nothing and `reset()`
/// after one that found something. Owner thread only.
class Backoff {
 public:
  void pause() noexcept {
    if (++polls_ <= kSpinPolls) {
      cpu_pause();
    } else {
      pause_slowly();
    }
  }
  void reset() noexcept { polls_ = 0; }

 private:
  void pause_slowly() noexcept;
  std::uint32_t polls_ = 0;
};

/// A point in time after which a bounded wait gives up. Reads the clock only every few calls.
class Deadline {
 public:
  explicit Deadline(std::chrono::nanoseconds timeout) noexcept
      : end_(std::chrono::steady_clock::now() + timeout) {}
  bool passed() const noexcept { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

}  // namespace dtutils
