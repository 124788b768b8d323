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

/// Threads that wait give a core back within microseconds, those that compute at the end of a
/// slice.
constexpr std::chrono::microseconds kSlowYield{500};
/// So many times a thread sleeps in place of yielding after a slow yield, and twice as often after
/// each further one, before it tries again.
constexpr std::uint32_t kSleepsAtFirst = 16;
constexpr std::uint32_t kSleepsAtMost = 256;

struct Yields {
  std::uint32_t sleeps = kSleepsAtFirst;
  std::uint32_t sleeps_left = 0;
};
thread_local Yields yields;

}  // namespace

void give_way() noexcept {
  if (Scheduler* const scheduler = simulated_by()) return scheduler->pause();
  if (yields.sleeps_left != 0) {
    --yields.sleeps_left;
    return sleep_for(std::chrono::microseconds(kIdleSleepMicroseconds));
  }
  const Clock::time_point begin = Clock::now();
  sched_yield();
  if (Clock::now() - begin <= kSlowYield) {
    yields.sleeps = std::max(yields.sleeps - 1, kSleepsAtFirst);
    return;
  }
  yields.sleeps_left = yields.sleeps;
  yields.sleeps = std::min(2 * yields.sleeps, kSleepsAtMost);
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
