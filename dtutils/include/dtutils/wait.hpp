// SPDX-License-Identifier: MIT
// How a thread waits when there may be more threads than cores: spin, then yield, then sleep.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <span>

#include "dtutils/clock.hpp"
#include "dtutils/limits.hpp"

namespace dtutils {

/// A poll has found nothing, and the caller may poll again at once: where no Backoff is at hand, so
/// that a simulation can let others run. Elsewhere it does nothing. Any thread, wait-free outside
/// of simulations.
inline void found_nothing() noexcept {
  if (Scheduler* const scheduler = simulated_by()) [[unlikely]] {
    scheduler->pause();
  }
}

/// The other end: a poll has found something, so a simulation lets the next ones that find nothing
/// look again soon. Any thread, wait-free.
inline void found_something() noexcept {
  if (Scheduler* const scheduler = simulated_by()) [[unlikely]] {
    scheduler->got_on();
  }
}

/// Tells the CPU, and a simulation, that this is a spin loop.
inline void cpu_pause() noexcept {
  found_nothing();
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// Gives the core to another thread that wants it; in a simulation, as `found_nothing`. When a
/// thread that computes has taken it for a whole time slice, the next calls sleep for short times
/// instead: the kernel lets who was asleep run sooner than who has yielded. Any thread.
void give_way() noexcept;
/// Sleeps for so long. Any thread.
void sleep_for(std::chrono::nanoseconds time) noexcept;
/// As poll(2): the number of descriptors with events; a negative timeout is without a limit. Any
/// thread.
int wait_for_events(std::span<pollfd> descriptors, std::chrono::milliseconds timeout) noexcept;
/// The caller has written to a descriptor that wait_for_events() of others may watch: a simulation
/// has no other news of it. Any thread, wait-free.
inline void signaled_descriptor() noexcept {
  if (Scheduler* const scheduler = simulated_by()) [[unlikely]] {
    scheduler->signaled();
  }
}

/// Asks the kernel to run the calling thread soon after each time that it is woken, also where
/// others compute, in return for short time slices (sched_setattr(2), and "EEVDF Scheduler" in the
/// kernel's documentation; Linux 6.12, earlier ones take no notice). For threads that sleep most
/// of the time and answer others. What they start has the usual slices. In a simulation it does
/// nothing. Any thread.
void ask_for_short_slices() noexcept;

/// One waiting loop's patience. Call `pause()` after each poll that found nothing and `reset()`
/// after one that found something. Owner thread only.
class Backoff {
 public:
  /// Spins, then yields, then sleeps.
  Backoff() noexcept = default;
  /// Yields so often between spinning and sleeping. 0 is for who waits for a thread that is about
  /// to be woken up: it needs a core, and where others compute, a yield gives them the core for a
  /// whole time slice, while whoever sleeps gets it back at once.
  explicit Backoff(std::uint32_t yields) noexcept : yields_(yields) {}
  /// Spins at first; after many calls it yields, then sleeps.
  void pause() noexcept {
    if (++polls_ <= kSpinPolls) {
      cpu_pause();
    } else {
      pause_slowly();
    }
  }
  /// Begins with spinning again.
  void reset() noexcept {
    polls_ = 0;
    found_something();
  }

 private:
  void pause_slowly() noexcept;
  std::uint32_t polls_ = 0;
  std::uint32_t yields_ = kYieldPolls;
};

/// A point in time after which a bounded wait gives up. Owner thread only.
class Deadline {
 public:
  /// nanoseconds::max() means never.
  explicit Deadline(std::chrono::nanoseconds timeout) noexcept : end_(after(timeout)) {}
  /// Looks at the clock at the first and then at every 16th call, since that costs more than a
  /// poll; so a loop that asks once a poll ends a little late, never early. In a simulation, where
  /// a waiter may look seldom, it does so at every call.
  bool passed() noexcept {
    return (calls_++ % kPollsPerClock == 0 || simulated_by() != nullptr) && Clock::now() >= end_;
  }

  /// The point in time.
  Clock::time_point end() const noexcept { return end_; }

 private:
  static Clock::time_point after(std::chrono::nanoseconds timeout) noexcept {
    const Clock::time_point now = Clock::now();
    return timeout < Clock::time_point::max() - now ? now + timeout : Clock::time_point::max();
  }

  static constexpr std::uint32_t kPollsPerClock = 16;
  std::uint32_t calls_ = 0;
  Clock::time_point end_;
};

}  // namespace dtutils
