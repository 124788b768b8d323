// SPDX-License-Identifier: MIT
// The slow part of Backoff: yield, then sleep.
#include "dtutils/wait.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace dtutils {
namespace {

/// So many sleeps make the next one longer by kIdleSleepMicroseconds: a wait that has taken long
/// may end a little later, by about a hundredth of its time, and a thread that waits for a person
/// or for another that computes hardly costs anything. Many such threads may share a core with it.
constexpr std::uint32_t kSleepsPerStep = 8;
constexpr std::uint32_t kLongestSleepMicroseconds = 4000;
constexpr std::uint32_t kMaxSleeps =
    kSleepsPerStep * (kLongestSleepMicroseconds / kIdleSleepMicroseconds - 1);

}  // namespace

void give_way() noexcept {
  if (Scheduler* const scheduler = simulated_by()) return scheduler->pause();
  sched_yield();
}

void sleep_for(std::chrono::nanoseconds time) noexcept {
  if (Scheduler* const scheduler = simulated_by()) return scheduler->sleep_for(time);
  std::this_thread::sleep_for(time);
}

int wait_for_events(std::span<pollfd> descriptors, std::chrono::milliseconds timeout) noexcept {
  if (Scheduler* const scheduler = simulated_by()) {
    return scheduler->wait_for_events(descriptors.data(), descriptors.size(), timeout);
  }
  return ::poll(descriptors.data(), descriptors.size(), static_cast<int>(timeout.count()));
}

void Backoff::pause_slowly() noexcept {
  if (Scheduler* const scheduler = simulated_by()) return scheduler->pause();
  const std::uint32_t before_sleep = kSpinPolls + yields_;
  if (polls_ <= before_sleep) {
    give_way();
    return;
  }
  // The counter must not wrap round to spinning.
  polls_ = std::min(polls_, before_sleep + kMaxSleeps);
  const std::uint32_t steps = 1 + (polls_ - before_sleep) / kSleepsPerStep;
  sleep_for(std::chrono::microseconds(steps * kIdleSleepMicroseconds));
}

}  // namespace dtutils
