// SPDX-License-Identifier: MIT
// Moving bytes as a device does: in ascending order, aligned words whole, unseen by the sanitizer.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace dtutils::software {

inline constexpr std::size_t kWord = sizeof(std::uint64_t);

/// Copies into memory that another thread or process may be polling. Bytes appear in ascending
/// order and every naturally aligned word of up to 8 bytes appears at once, so the device may
/// answer "data in order". The ranges do not overlap. Any thread.
void place_bytes(void* to, const void* from, std::size_t length) noexcept;

/// The same with the cache lines of `to` in an order drawn from `random`: what a device that
/// promises nothing may do. Words stay whole.
void place_bytes_shuffled(void* to, const void* from, std::size_t length,
                          std::uint64_t random) noexcept;

/// One word to an aligned place. Acquire/release pairs with load_device_word.
inline void place_aligned(std::byte* to, const std::byte* from) noexcept {
  std::uint64_t word;
  __builtin_memcpy(&word, from, sizeof word);
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(to), word, __ATOMIC_RELEASE);
}

/// The usual small message, inline in the caller.
inline bool place_word(void* to, const void* from, std::size_t length) noexcept {
#if defined(__SANITIZE_THREAD__)
  (void)to, (void)from, (void)length;
  return false;
#else
  if (length != kWord || (reinterpret_cast<std::uintptr_t>(to) & (kWord - 1)) != 0) return false;
  place_aligned(static_cast<std::byte*>(to), static_cast<const std::byte*>(from));
  return true;
#endif
}

/// A short copy of whole words to an aligned place, inline in the caller; answers where it ends.
/// For use behind the send lock only: wide loads may span words that were stored a moment ago,
/// which would cost a long wait, had the locked instruction not emptied the store buffer.
inline std::byte* place_words(std::byte* to, const std::byte* from, std::size_t length) noexcept {
#if defined(__SANITIZE_THREAD__)
  place_bytes(to, from, length);
  return to + length;
#else
  // Only for speed: the zero and the header of a call.
  if (length == kWord) {
    place_aligned(to, from);
    return to + kWord;
  }
  // Makes the pairs aligned, so that none lies across two lines, and each arrives whole.
  if ((reinterpret_cast<std::uintptr_t>(to) & kWord) != 0 && length != 0) {
    place_aligned(to, from);
    to += kWord;
    from += kWord;
    length -= kWord;
  }
  const auto pairs = static_cast<std::ptrdiff_t>(length & ~(2 * kWord - 1));
  to += pairs;
  from += pairs;
  for (std::ptrdiff_t at = -pairs; at != 0; at += 2 * kWord) {
#if defined(__SSE2__)
    const __m128i pair = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
    _mm_store_si128(reinterpret_cast<__m128i*>(to + at), pair);
    // The stores stay in this order.
    asm volatile("" ::: "memory");
#else
    place_aligned(to + at, from + at);
    place_aligned(to + at + kWord, from + at + kWord);
#endif
  }
  if ((length & kWord) == 0) return to;
  place_aligned(to, from);
  return to + kWord;
#endif
}

}  // namespace dtutils::software
