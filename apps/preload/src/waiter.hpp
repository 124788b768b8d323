// SPDX-License-Identifier: MIT
// A thread that sleeps until one of several connections changes.
#pragma once

#include <algorithm>
#include <list>

namespace preload {

/// What a thread that sleeps in the kernel can be woken by: an eventfd of its own, made when it
/// first sleeps. -1 when there is no descriptor left; it then looks again after a short time.
int wake_descriptor() noexcept;
/// Takes what came off it.
void take_wakes() noexcept;

/// The threads that sleep on one connection. Guarded by the connection's mutex.
class Sleepers {
 public:
  using Place = std::list<int>::iterator;

  Place add(int wake) { return wakes_.insert(wakes_.end(), wake); }
  void remove(Place place) noexcept { wakes_.erase(place); }
  /// Whether another one than that with the descriptor `wake` sleeps.
  bool has_others(int wake) const noexcept {
    return std::any_of(wakes_.begin(), wakes_.end(), [&](int fd) { return fd != wake; });
  }
  /// Wakes all but the one with the descriptor `except`.
  void wake(int except = -1) noexcept;
  /// In a forked child, where none of them exists.
  void forget() noexcept { wakes_.clear(); }

 private:
  std::list<int> wakes_;
};

}  // namespace preload
