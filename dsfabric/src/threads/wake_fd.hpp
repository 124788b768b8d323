// SPDX-License-Identifier: MIT
// Owner of an eventfd(2): wakes a thread that sleeps in poll(2).
#pragma once

namespace dsfabric {

class WakeFd {
 public:
  /// Throws Error. Setup only.
  WakeFd();
  WakeFd(const WakeFd&) = delete;
  WakeFd& operator=(const WakeFd&) = delete;
  ~WakeFd();

  /// Any thread; a system call.
  void wake() noexcept;
  /// Forgets the wakes so far.
  void clear() noexcept;
  int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

}  // namespace dsfabric
