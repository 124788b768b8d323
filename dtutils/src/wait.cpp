// SPDX-License-Identifier: MIT
// The slow part of Backoff: yield, then sleep.
#include "dtutils/wait.hpp"

#include <thread>

namespace dtutils {

void Backoff::pause_slowly() noexcept {
  if (polls_ <= kSpinPolls + kYieldPolls) {
    std::this_thread::yield();
    return;
  }
  // Stays in the sleeping phase: the counter must not wrap round to spinning.
  polls_ = kSpinPolls + kYieldPolls;
  std::this_thread::sleep_for(std::chrono::microseconds(kIdleSleepMicroseconds));
}

}  // namespace dtutils
