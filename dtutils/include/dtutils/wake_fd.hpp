// SPDX-License-Identifier: MIT
// Owner of an eventfd(2): wakes a thread that sleeps in poll(2).
#pragma once

namespace dtutils {

/// What wakes a thread that waits for it by wait_for_events(), in a simulation too:
///
///     wake.clear();
///     if (!work()) {
///       pollfd news[] = {{wake.fd(), POLLIN, 0}};
///       (void)wait_for_events(news, std::chrono::milliseconds(-1));
///     }
///
/// Whoever makes work and then calls wake() is not missed: a wake between clear() and the wait ends
/// that wait.
class WakeFd {
 public:
  /// Throws Error when there is no descriptor left. Setup only.
  WakeFd();
  WakeFd(const WakeFd&) = delete;
  WakeFd& operator=(const WakeFd&) = delete;
  ~WakeFd();

  /// Any thread; a system call.
  void wake() noexcept;
  /// Forgets the wakes so far. Any thread; a system call.
  void clear() noexcept;
  /// The descriptor, readable from a wake until clear(). Any thread.
  int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

}  // namespace dtutils
