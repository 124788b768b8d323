// SPDX-License-Identifier: MIT
// FiberMutex: a queue of waiters, each of whom is handed the lock by the one before.
#include "riutils/fiber_mutex.hpp"

#include <utility>

#include "dsfabric/handler_scope.hpp"
#include "dtutils/synchronizer.hpp"
#include "dtutils/wait.hpp"

namespace riutils {

/// On the stack of the one that waits.
struct FiberMutex::Waiter {
  dtutils::Synchronizer granted{1};
  Waiter* next = nullptr;
};

class FiberMutex::Guard {
 public:
  explicit Guard(std::atomic_flag& flag) noexcept : flag_(flag) {
    dtutils::Backoff backoff;
    // Acquire: pairs with the destructor of the one before.
    while (flag_.test_and_set(std::memory_order_acquire)) backoff.pause();
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag& flag_;
};

void FiberMutex::lock() {
  if (try_lock()) return;
  dsfabric::detail::require_may_wait("FiberMutex::lock()");
  Waiter waiter;
  {
    const Guard guard(guard_);
    if (!std::exchange(locked_, true)) return;
    (last_ != nullptr ? last_->next : first_) = &waiter;
    last_ = &waiter;
  }
  try {
    waiter.granted.wait();
  } catch (...) {
    leave(waiter);
    throw;
  }
}

bool FiberMutex::try_lock() noexcept {
  const Guard guard(guard_);
  return !std::exchange(locked_, true);
}

void FiberMutex::unlock() noexcept {
  Waiter* next = nullptr;
  {
    const Guard guard(guard_);
    next = first_;
    if (next == nullptr) {
      locked_ = false;
      return;
    }
    first_ = next->next;
    if (first_ == nullptr) last_ = nullptr;
  }
  next->granted.decrement();
}

void FiberMutex::leave(Waiter& waiter) noexcept {
  bool waits = false;
  {
    const Guard guard(guard_);
    Waiter* before = nullptr;
    for (Waiter* at = first_; at != nullptr && !waits; at = waits ? at : at->next) {
      waits = at == &waiter;
      if (!waits) before = at;
    }
    if (waits) {
      (before != nullptr ? before->next : first_) = waiter.next;
      if (last_ == &waiter) last_ = before;
    }
  }
  if (waits) return;
  // It was granted meanwhile, or is just being granted.
  dtutils::Backoff backoff;
  while (!waiter.granted.done()) backoff.pause();
  unlock();
}

}  // namespace riutils
