// SPDX-License-Identifier: MIT
// What takes the place of the machine's clock and of the kernel's scheduler in a simulation.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace dtutils {

/// The owner of the time and the threads of a simulation. Layers do not call it: they take the time
/// from `Clock`, threads from `JoinableThread`, and wait by `Backoff`, `Mutex` and the functions of
/// wait.hpp, which come here when the calling thread is simulated. Outside of simulations each of
/// them costs one load of a word that nobody writes.
///
/// A simulated thread runs until it waits, and no other one runs meanwhile. All methods are called
/// by simulated threads, where nothing else is said.
class Scheduler {
 public:
  /// A simulated point in time.
  using Time = std::chrono::steady_clock::time_point;
  /// Names a thread from its start to its end.
  using ThreadNumber = std::uint32_t;

  virtual ~Scheduler() = default;

  /// The time that it is for the calling thread.
  virtual Time now() noexcept = 0;
  /// The thread has found nothing to do. Returns when it has reason to look again.
  virtual void pause() noexcept = 0;
  /// It has found something: the next pauses are short again.
  virtual void got_on() noexcept = 0;
  /// Returns when so much time has passed.
  virtual void sleep_for(std::chrono::nanoseconds time) noexcept = 0;
  /// As poll(2). A negative timeout is without a limit.
  virtual int wait_for_events(pollfd* descriptors, nfds_t count,
                              std::chrono::milliseconds timeout) noexcept = 0;
  /// The thread has made a descriptor readable that others may wait for.
  virtual void signaled() noexcept = 0;
  /// Cores of the simulated machine.
  virtual unsigned cores() const noexcept = 0;

  /// The caller is about to start a thread.
  virtual ThreadNumber announce() = 0;
  /// The announced thread was not started.
  virtual void withdraw(ThreadNumber thread) noexcept = 0;
  /// The first that an announced thread does; returns when it is its turn.
  virtual void begin(ThreadNumber thread) noexcept = 0;
  /// The last that it does.
  virtual void end(ThreadNumber thread) noexcept = 0;
  /// Returns when that thread has come to `end`.
  virtual void wait_for_end(ThreadNumber thread) noexcept = 0;

 protected:
  /// Makes the calling thread one of `scheduler`; nullptr: of the machine again. Any thread.
  static void adopt_this_thread(Scheduler* scheduler) noexcept;

 private:
  friend Scheduler* simulated_by() noexcept;
  static Scheduler* of_this_thread() noexcept;
  /// Some thread of this process was simulated.
  static inline constinit std::atomic<bool> used{false};
};

/// The scheduler of the calling thread; nullptr when the machine runs it, as outside of
/// simulations. Any thread, wait-free.
inline Scheduler* simulated_by() noexcept {
  // Relaxed: a thread that is simulated has set it itself.
  if (!Scheduler::used.load(std::memory_order_relaxed)) [[likely]] {
    return nullptr;
  }
  return Scheduler::of_this_thread();
}

}  // namespace dtutils
