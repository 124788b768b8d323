// SPDX-License-Identifier: MIT
// From a descriptor to its entry, without a lock: each call of the program asks it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "entry.hpp"

namespace preload {

/// An entry of the wanted class, locked, or nothing.
template <class T>
struct Locked {
  T* entry = nullptr;
  std::unique_lock<Mutex> lock;

  explicit operator bool() const noexcept { return entry != nullptr; }
  T* operator->() const noexcept { return entry; }
  T& operator*() const noexcept { return *entry; }
};

/// Two levels, of which the second is made when a descriptor of its range is first entered, and
/// stays. Descriptors above its limit have no entries, so their sockets remain plain ones.
class DescriptorTable {
 public:
  static constexpr unsigned kPart = 1024;
  static constexpr unsigned kLimit = 1024 * kPart;

  /// Any thread, wait-free.
  Entry* find(int fd) const noexcept {
    const auto index = static_cast<unsigned>(fd);
    if (index >= kLimit) return nullptr;
    // Acquire: pairs with the exchange in `enter`, which publishes the part, and with its store.
    const Part* part = parts_[index / kPart].load(std::memory_order_acquire);
    return part == nullptr ? nullptr : (*part)[index % kPart].load(std::memory_order_acquire);
  }

  /// The entry of `fd`, locked, if it is a T. Any thread.
  template <class T>
  Locked<T> lock(int fd) const noexcept {
    for (;;) {
      Entry* const entry = find(fd);
      if (entry == nullptr || entry->kind() != T::kKind) return {};
      std::unique_lock lock(entry->mutex);
      if (find(fd) == entry) return {static_cast<T*>(entry), std::move(lock)};
    }
  }

  /// Lets `fd` mean `entry`, whose mutex the caller holds; nullptr: nothing. False, and no change,
  /// above the limit. Any thread.
  bool enter(int fd, Entry* entry) noexcept {
    const auto index = static_cast<unsigned>(fd);
    if (index >= kLimit) return false;
    std::atomic<Part*>& place = parts_[index / kPart];
    Part* part = place.load(std::memory_order_acquire);
    if (part == nullptr) {
      if (entry == nullptr) return true;
      auto made = std::make_unique<Part>();
      if (place.compare_exchange_strong(part, made.get(), std::memory_order_acq_rel)) {
        part = made.release();
      }
    }
    (*part)[index % kPart].store(entry, std::memory_order_release);
    unsigned end = end_.load(std::memory_order_relaxed);
    while (end <= index && !end_.compare_exchange_weak(end, index + 1)) {
    }
    return true;
  }

  /// No descriptor from here on was ever entered. Any thread.
  unsigned end() const noexcept { return end_.load(std::memory_order_relaxed); }

 private:
  using Part = std::array<std::atomic<Entry*>, kPart>;
  std::array<std::atomic<Part*>, kLimit / kPart> parts_{};
  std::atomic<unsigned> end_{0};
};

/// The table of this process.
DescriptorTable& table() noexcept;

}  // namespace preload
