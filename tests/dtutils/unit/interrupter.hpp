// SPDX-License-Identifier: MIT
// Interrupts a thread at any of its instructions, in place of another thread that comes at the
// worst moment: that one is rare, and needs a second core.
#pragma once

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

#include "support/require.hpp"

namespace support {

#if defined(__SANITIZE_THREAD__)
/// The thread sanitizer holds signals back until the thread makes a system call.
inline constexpr bool kCanInterrupt = false;
#else
inline constexpr bool kCanInterrupt = true;
#endif

/// While it lives, a timer calls `act` again and again by a signal handler in the thread that made
/// it. `act` does only what a signal handler may do. One at a time.
class Interrupter {
 public:
  explicit Interrupter(void (*act)()) {
    act_ = act;
    calls_ = 0;
    struct sigaction action {};
    action.sa_handler = [](int) {
      act_.load()();
      calls_.fetch_add(1);
    };
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, &before_);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR1;
    event._sigev_un._tid = gettid();
    require(timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0, "there is no timer");
    const itimerspec often{{0, kNanoseconds}, {0, kNanoseconds}};
    timer_settime(timer_, 0, &often, nullptr);
  }
  Interrupter(const Interrupter&) = delete;
  Interrupter& operator=(const Interrupter&) = delete;
  ~Interrupter() {
    timer_delete(timer_);
    sigaction(SIGUSR1, &before_, nullptr);
  }

  /// Interruptions so far.
  static std::uint64_t calls() { return calls_; }

 private:
  // No divisor of the time that a round of a test takes, so that it comes everywhere in it.
  static constexpr long kNanoseconds = 30'011;

  inline static std::atomic<void (*)()> act_{nullptr};
  inline static std::atomic<std::uint64_t> calls_{0};

  struct sigaction before_ {};
  timer_t timer_{};
};

}  // namespace support
