// SPDX-License-Identifier: MIT
// The slow part of Backoff: yield, then sleep.
#include "dtutils/wait.hpp"

#include <algorithm>
#include <thread>

namespace dtutils {
namespace {

/// So many sleeps make the next one longer by kIdleSleepMicroseconds: a wait that has taken long
/// may end a little later, and a thread that waits for a person hardly costs anything.
constexpr std::uint32_t kSleepsPerStep = 16;
constexpr std::uint32_t kLongestSleepMicroseconds = 500;
constexpr std::uint32_t kMaxSleeps =
    kSleepsPerStep * (kLongestSleepMicroseconds / kIdleSleepMicroseconds - 1);

}  // namespace

void Backoff::pause_slowly() noexcept {
  constexpr std::uint32_t kBeforeSleep = kSpinPolls + kYieldPolls;
  if (polls_ <= kBeforeSleep) {
    std::this_thread::yield();
    return;
  }
  // The counter must not wrap round to spinning.
  polls_ = std::min(polls_, kBeforeSleep + kMaxSleeps);
  const std::uint32_t steps = 1 + (polls_ - kBeforeSleep) / kSleepsPerStep;
  std::this_thread::sleep_for(std::chrono::microseconds(steps * kIdleSleepMicroseconds));
}

}  // namespace dtutils
