// SPDX-License-Identifier: MIT
// Time and the fence against the optimiser that measured loops need.
#pragma once

#include <chrono>
#include <type_traits>

namespace bench {

/// Nanoseconds of a clock that never goes back. Any thread, wait-free.
inline double now_ns() noexcept {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

/// Runs `work` once and returns how many nanoseconds it took.
template <class Work>
double time_ns(Work&& work) {
  const double begin = now_ns();
  work();
  return now_ns() - begin;
}

/// Makes the compiler believe that `value` is used and that memory may have changed, so that the
/// computation of `value` stays in the loop. Costs no instruction for a value in a register.
/// Source: GCC manual, "Extended Asm".
template <class T>
inline void keep(const T& value) noexcept {
  if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(void*)) {
    asm volatile("" : : "r,m"(value) : "memory");
  } else {
    asm volatile("" : : "m"(value) : "memory");
  }
}

/// The compiler must assume here that all memory was read and written.
inline void keep_memory() noexcept { asm volatile("" : : : "memory"); }

/// Tells the core that it is in a spin loop.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace bench
