// SPDX-License-Identifier: MIT
// A mutex that may be held while its owner waits, in a simulation too.
#pragma once

#include <mutex>

#include "dtutils/scheduler.hpp"

namespace dtutils {

/// A std::mutex. In a simulation a thread that finds it taken lets other threads run. Layers use it
/// where the owner may wait, post, poll or sleep; where it does not, a std::mutex is as good, since
/// no other simulated thread runs meanwhile. Any thread; as std::mutex.
class Mutex {
 public:
  /// Waits until it is free, and takes it.
  void lock() {
    if (Scheduler* const scheduler = simulated_by()) [[unlikely]] {
      while (!mutex_.try_lock()) scheduler->pause();
    } else {
      mutex_.lock();
    }
  }
  /// Takes it if it is free.
  bool try_lock() noexcept { return mutex_.try_lock(); }
  /// Gives it back.
  void unlock() noexcept { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace dtutils
