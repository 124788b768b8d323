// SPDX-License-Identifier: MIT
// What a get reads of the cache of its host: compiled into the programs that use a Reader.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dtutils/device_memory.hpp"

namespace sharing::detail {

/// Words of the cache, which other processes change at any time. Any thread, wait-free.
template <class T>
T load_shared(const T& word, std::memory_order order = std::memory_order_relaxed) noexcept {
  return std::atomic_ref(const_cast<T&>(word)).load(order);
}
template <class T>
void store_shared(T& word, T value, std::memory_order order = std::memory_order_relaxed) noexcept {
  std::atomic_ref(word).store(value, order);
}
/// Copies bytes that may change meanwhile: a sequence number tells whether they did.
inline void copy_shared(void* to, const void* from, std::size_t bytes) noexcept {
#if defined(__SANITIZE_THREAD__)
  // The sanitizer cannot know what the sequence number tells.
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  for (std::size_t i = 0; i < bytes; ++i) {
    store_shared(out[i], load_shared(in[i], std::memory_order_acquire), std::memory_order_release);
  }
#else
  std::memcpy(to, from, bytes);
#endif
}
/// Between bytes that copy_shared copies and the words around them.
inline void fence_shared([[maybe_unused]] std::memory_order order) noexcept {
#if !defined(__SANITIZE_THREAD__)  // which does not know fences; there each byte is ordered
  std::atomic_thread_fence(order);
#endif
}

/// A copy in the cache of the host, and what was true of it when it was looked at: as long as both
/// words are what they were then, it still is.
struct SeenCopy {
  /// Of no entry.
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  /// Of the entry.
  const std::uint64_t* sequence = nullptr;
  std::uint64_t sequence_then = kNone;
  /// The version of the datum that was pushed to the host.
  const std::uint64_t* pushed = nullptr;
  std::uint64_t pushed_then = 0;
  const std::byte* bytes = nullptr;
  std::uint64_t version = 0;
  /// When the bytes were fetched.
  std::chrono::nanoseconds fetched{0};

  bool unchanged() const noexcept {
    // Acquire: pairs with the release of who has filled the entry.
    return load_shared(*sequence, std::memory_order_acquire) == sequence_then &&
           dtutils::load_device_word(pushed) == pushed_then;
  }
  /// By the clock that counts `fetched`: a copy from its future is none.
  bool is_young(std::chrono::nanoseconds age, std::chrono::nanoseconds time) const noexcept {
    return fetched <= time && time - fetched <= age;
  }
  /// False when it changed meanwhile: then `into` has anything.
  bool copy(std::byte* into, std::size_t length) const noexcept {
    copy_shared(into, bytes, length);
    // Behind the bytes; pairs with the fence behind the odd number.
    fence_shared(std::memory_order_acquire);
    return load_shared(*sequence) == sequence_then;
  }
};

}  // namespace sharing::detail
