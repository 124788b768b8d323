// SPDX-License-Identifier: MIT
// Handlers of the program run when this thread holds nothing of the library, so that they may leave
// a call by longjmp(3), as they may leave a system call; and a thread is cancelled only then.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace preload {

namespace detail {
/// How often this thread holds signals off. It is read by handlers, hence initial-exec: no memory
/// is allocated for it late.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local std::atomic<unsigned> holds;
/// Whether the thread could be cancelled before it held signals off.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local int cancel_state;
/// Signals that came meanwhile, one bit each.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local std::atomic<std::uint64_t> held;
}  // namespace detail

/// Lets the handlers of what came meanwhile run. They may not return.
void run_held_signals();

/// It cannot be cancelled either.
inline void hold_signals() noexcept {
  const unsigned holds = detail::holds.load(std::memory_order_relaxed);
  detail::holds.store(holds + 1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (holds == 0) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &detail::cancel_state);
}

inline void let_signals() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const unsigned holds = detail::holds.load(std::memory_order_relaxed) - 1;
  if (holds == 0) pthread_setcancelstate(detail::cancel_state, nullptr);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  detail::holds.store(holds, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (holds == 0 && detail::held.load(std::memory_order_relaxed) != 0) [[unlikely]]
    run_held_signals();
}

/// As long as it lives, signals that come to this thread wait. Nests. For what does not sleep.
class HoldSignals {
 public:
  HoldSignals() noexcept { hold_signals(); }
  HoldSignals(const HoldSignals&) = delete;
  HoldSignals& operator=(const HoldSignals&) = delete;
  ~HoldSignals() { let_signals(); }
};

/// Within HoldSignals, but where the caller could be left: what came meanwhile runs.
void take_signals();

/// A mutex that holds signals off while this thread has it.
class Mutex {
 public:
  void lock() {
    hold_signals();
    mutex_.lock();
  }
  void unlock() {
    mutex_.unlock();
    let_signals();
  }

 private:
  std::mutex mutex_;
};

/// Around a sleep in the kernel that has something to take back afterwards. Signals come only
/// within a call with `mask()`, which then fails with EINTR; their handlers run at the end of this.
/// The thread can be cancelled within Cancellable. Not within HoldSignals.
class SleepWithSignals {
 public:
  /// `mask`: the one with which the program wants to sleep, or nullptr.
  explicit SleepWithSignals(const sigset_t* mask) noexcept;
  SleepWithSignals(const SleepWithSignals&) = delete;
  SleepWithSignals& operator=(const SleepWithSignals&) = delete;
  ~SleepWithSignals();

  /// nullptr: the thread's own.
  const sigset_t* mask() const noexcept {
    return wanted_ != nullptr || !masks_ ? wanted_ : &before_;
  }

 private:
  /// Without any handler of the program there is none that could leave the call.
  const bool masks_;
  const sigset_t* wanted_;
  sigset_t before_;
};

/// Around a system call within SleepWithSignals, at which the thread may be cancelled: the stack
/// is unwound, so nothing between it and the program's call may be noexcept.
class Cancellable {
 public:
  Cancellable() noexcept { pthread_setcancelstate(detail::cancel_state, nullptr); }
  Cancellable(const Cancellable&) = delete;
  Cancellable& operator=(const Cancellable&) = delete;
  ~Cancellable() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr); }
};

/// How many handlers of the program this thread has run, and how many of them were installed
/// without SA_RESTART. A handler that was installed past this library is not counted.
struct HandlersRun {
  std::uint32_t all = 0;
  std::uint32_t without_restart = 0;
};
HandlersRun handlers_run() noexcept;

/// As sigaction(2), but a handler is put behind one of the library, which holds it off. Any thread,
/// also within handlers.
int set_action(int signal, const struct sigaction* action, struct sigaction* before) noexcept;
/// The same for signal(3) and its like: `set` is that of the C library.
sighandler_t set_handler(int signal, sighandler_t handler, sighandler_t (*set)(int, sighandler_t));

}  // namespace preload
