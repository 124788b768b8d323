// SPDX-License-Identifier: MIT
// One call of the program that moves bytes: how it waits, and what it answers.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <ctime>
#include <span>

#include "buffers.hpp"
#include "poll.hpp"

namespace preload {

class Connection;

/// One call that moves bytes until it is done or may not wait.
class Call {
 public:
  /// `events`: POLLIN for a receive, POLLOUT for a send.
  Call(int fd, int flags, short events) noexcept : fd_(fd), flags_(flags), events_(events) {}

  /// Before the first wait, while the connection is locked.
  void learn(Connection& connection) noexcept;
  /// For a send, before each wait: the peer may wait for space as well.
  void receive_ahead(Connection& connection) noexcept;
  /// Waits for the event; `done`: a part of the bytes is. 0: go on; an errno value: the call ends.
  int wait(bool done);
  /// Sleeps for `time` where it would wait otherwise; answers as `wait`.
  int pause(const timespec& time, bool done);

 private:
  /// Who waits for space looks for bytes that it can receive meanwhile after so long, and twice as
  /// long each time that there were none.
  static constexpr std::chrono::milliseconds kLooksAheadFirst{1};
  static constexpr std::chrono::milliseconds kLooksAheadLast{64};

  int fd_;
  int flags_;
  short events_;
  bool known_ = false;
  End end_;
  bool looks_ahead_ = false;
  std::chrono::milliseconds next_look_ = kLooksAheadFirst;
};

/// What the call answers, with errno: the bytes, or -1 when there are none and `code` is not 0.
ssize_t answer(std::size_t done, int code) noexcept;
/// The descriptor was closed, or is the kernel's alone now, since the process has an io_uring.
ssize_t go_on_with_kernel(int fd, Buffers& buffers, int flags, bool sends);

}  // namespace preload
