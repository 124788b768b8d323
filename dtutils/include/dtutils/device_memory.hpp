// SPDX-License-Identifier: MIT
// The one way to read memory that a device (or a peer through it) writes while we look.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dtutils {

/// Reads a word of 1, 2, 4 or 8 bytes, naturally aligned, that a peer writes by RDMA. Acquire:
/// what the peer wrote by earlier operations on the same queue pair is visible afterwards. It pairs
/// with the device's placement of the word, which is a single store on shm and a single DMA
/// transaction on hardware. Any thread, wait-free.
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

}  // namespace dtutils
