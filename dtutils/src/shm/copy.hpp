// SPDX-License-Identifier: MIT
// Moving bytes as a device does: in ascending order, aligned words whole, unseen by the sanitizer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dtutils::shm {

/// Copies into memory that another thread or process may be polling. Bytes appear in ascending
/// order and every naturally aligned word of up to 8 bytes appears at once, so the device may
/// answer "data in order". The ranges do not overlap. Any thread.
void place_bytes(void* to, const void* from, std::size_t length) noexcept;

/// The same with the cache lines of `to` in an order drawn from `random`: what a device that
/// promises nothing may do. Words stay whole.
void place_bytes_shuffled(void* to, const void* from, std::size_t length,
                          std::uint64_t random) noexcept;

/// The usual small message, inline in the caller. Acquire/release pairs with load_device_word.
inline bool place_word(void* to, const void* from, std::size_t length) noexcept {
#if defined(__SANITIZE_THREAD__)
  (void)to, (void)from, (void)length;
  return false;
#else
  if (length != 8 || (reinterpret_cast<std::uintptr_t>(to) & 7) != 0) return false;
  std::uint64_t word;
  __builtin_memcpy(&word, from, sizeof word);
  __atomic_store_n(static_cast<std::uint64_t*>(to), word, __ATOMIC_RELEASE);
  return true;
#endif
}

/// A short copy of whole words to an aligned place, inline in the caller. Word by word, because the
/// bytes were often stored a moment ago: a wider load over two of those stores would wait until
/// both have left the store buffer, behind everything that was posted before. Four at a time: a
/// short loop that happens to lie across two lines of code takes half as long again (messenger_rate
/// of 256 bytes: 17 M/s instead of 21).
inline void place_words(std::byte* to, const std::byte* from, std::size_t length) noexcept {
#if defined(__SANITIZE_THREAD__)
  place_bytes(to, from, length);
#else
#pragma GCC unroll 4
  for (std::size_t at = 0; at != length; at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    __builtin_memcpy(&word, from + at, sizeof word);
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(to + at), word, __ATOMIC_RELEASE);
  }
#endif
}

}  // namespace dtutils::shm
