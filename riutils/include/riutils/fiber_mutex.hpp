// SPDX-License-Identifier: MIT
// A lock for handlers: who waits for it gives its thread back.
#pragma once

#include <atomic>

namespace riutils {

/// Exclusive use of something by handlers and programs of one process, on any of its threads; it
/// may be held across waits. Given to waiters in the order in which they came. For
/// std::scoped_lock and std::unique_lock.
///
/// A fiber that waits for it is suspended; a program outside of handlers serves meanwhile. An
/// inline handler uses try_lock(): while it waited, its thread would run no other handler, and the
/// holder may be one.
class FiberMutex {
 public:
  FiberMutex() = default;
  FiberMutex(const FiberMutex&) = delete;
  FiberMutex& operator=(const FiberMutex&) = delete;

  /// Waits for the mutex. Throws what the handlers throw that run meanwhile, and Error where an
  /// inline handler would have to wait; then the mutex is not held. Any thread.
  void lock();
  /// Any thread.
  bool try_lock() noexcept;
  /// The holder gives the mutex back. Any thread.
  void unlock() noexcept;

 private:
  struct Waiter;
  class Guard;

  void leave(Waiter& waiter) noexcept;

  /// Protects the rest, for a few instructions each time.
  std::atomic_flag guard_;
  bool locked_ = false;
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

}  // namespace riutils
