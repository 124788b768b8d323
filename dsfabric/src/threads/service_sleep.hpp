// SPDX-License-Identifier: MIT
// Whether a service thread sleeps, and how it is woken.
#pragma once

#include <atomic>

#include "dtutils/wake_fd.hpp"

namespace dsfabric {

/// Between whoever puts a message down for the service threads and the one of them that sleeps
/// (tests/dsfabric/model/service_sleep.pml).
class ServiceSleep {
 public:
  /// A message waits for the service threads. Any thread; a system call if they sleep.
  void wake() noexcept {
    // Sequentially consistent: pairs with lie_down, after the count of waiting messages was raised.
    if (asleep_.load(std::memory_order_seq_cst)) wake_.wake();
  }
  /// Also when nobody has said that it sleeps.
  void wake_always() noexcept { wake_.wake(); }

  /// What is put down from here on wakes the caller, who looks once more before it sleeps. One
  /// thread at a time. Sequentially consistent: pairs with wake.
  void lie_down() noexcept { asleep_.store(true, std::memory_order_seq_cst); }
  void get_up() noexcept { asleep_.store(false, std::memory_order_relaxed); }
  /// Readable after a wake, until clear().
  int fd() const noexcept { return wake_.fd(); }
  void clear() noexcept { wake_.clear(); }

 private:
  dtutils::WakeFd wake_;
  std::atomic<bool> asleep_{false};
};

}  // namespace dsfabric
