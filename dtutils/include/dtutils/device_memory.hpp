// SPDX-License-Identifier: MIT
// Memory that a device, or a peer through it, writes while we look.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dtutils {

/// Reads a word of 1, 2, 4 or 8 bytes, naturally aligned, that a peer writes by RDMA. Acquire:
/// what the peer wrote by earlier operations on the same queue pair is visible afterwards. It pairs
/// with the device's placement of the word, which is a single store on shm and a single DMA
/// transaction on hardware. A loop that waits for a word pauses between its looks (Backoff, or
/// cpu_pause()): looks without a pause take the cache line away from a writer on this machine, and
/// the word arrives a third later. Any thread, wait-free.
template <class T>
T load_device_word(const T* address) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && std::atomic_ref<T>::is_always_lock_free);
  return std::atomic_ref<T>(*const_cast<T*>(address)).load(std::memory_order_acquire);
}

/// Stores such a word locally (for example to clear a flag before a peer sets it again). Release.
template <class T>
void store_device_word(T* address, T value) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && std::atomic_ref<T>::is_always_lock_free);
  std::atomic_ref<T>(*address).store(value, std::memory_order_release);
}

/// Asks for the cache line of `address` as a store would, but does not wait for it. Any address
/// will do. Any thread, wait-free.
inline void fetch_for_writing(std::uintptr_t address) noexcept {
#if defined(__x86_64__)
  // Without -mprfchw the builtin would fetch the line for reading only.
  asm volatile("prefetchw (%0)" : : "r"(address));
#else
  __builtin_prefetch(reinterpret_cast<const void*>(address), 1);
#endif
}

}  // namespace dtutils
