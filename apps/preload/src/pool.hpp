// SPDX-License-Identifier: MIT
// Entries that are used again.
#pragma once

#include <deque>
#include <mutex>
#include <vector>

#include "signals.hpp"

namespace preload {

/// Gives out objects of T, which stay where they are until the process ends. Any thread.
template <class T>
class Pool {
 public:
  T& take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return all_.emplace_back();
    T* const object = free_.back();
    free_.pop_back();
    return *object;
  }
  /// Nothing but the pool's next user changes it after that.
  void give(T& object) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(&object);
  }
  /// Calls `visit(object)` for all that were ever given out. It must not use the pool.
  template <class Visit>
  void for_each(Visit visit) {
    const std::scoped_lock lock(mutex_);
    for (T& each : all_) visit(each);
  }
  /// Around fork(2): the child must find the lists whole.
  Mutex& mutex() noexcept { return mutex_; }

 private:
  Mutex mutex_;
  std::deque<T> all_;
  std::vector<T*> free_;
};

/// The pool of the process. It is never destroyed: other threads run on while the process exits.
template <class T>
Pool<T>& pool() {
  static Pool<T>& instance = *new Pool<T>;
  return instance;
}

}  // namespace preload
