// SPDX-License-Identifier: MIT
// A lock that is tried, not waited for: who does not get it lets the holder do the work.
#pragma once

#include <atomic>

#include "dtutils/limits.hpp"

namespace dsfabric {

/// Any thread, wait-free.
class alignas(dtutils::kCacheLine) TryLock {
 public:
  bool try_lock() noexcept {
    // The load keeps idle threads from taking the line away from the holder. Acquire: pairs with
    // unlock, so that a holder sees what the one before it did.
    return !held_.load(std::memory_order_relaxed) &&
           !held_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace dsfabric
