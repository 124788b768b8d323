// SPDX-License-Identifier: MIT
// Waits of calls: time limits, signals, and looks ahead.
#include "call.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "connection.hpp"
#include "real.hpp"
#include "signals.hpp"
#include "uring.hpp"

namespace preload {
namespace {

/// The kernel goes on with an interrupted receive when the handler was installed with SA_RESTART,
/// but never with a poll. `before`: the count when the wait began. Which handler it was is not
/// known of those that were installed past this library: then one without makes the call end.
bool restarts_after_signal(HandlersRun before) noexcept {
  const HandlersRun now = handlers_run();
  if (now.all != before.all) return now.without_restart == before.without_restart;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action;
    if (sigaction(signal, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) continue;
    if ((action.sa_flags & SA_RESTART) == 0) return false;
  }
  return true;
}

}  // namespace

void Call::learn(Connection& connection) noexcept {
  if (known_ || (flags_ & MSG_DONTWAIT) != 0) return;
  known_ = true;
  const Manner manner = connection.manner(fd_);
  if (manner.non_blocking) flags_ |= MSG_DONTWAIT;
  const auto limit = events_ == POLLIN ? manner.receive_limit : manner.send_limit;
  if (limit.count() != 0) end_ = std::chrono::steady_clock::now() + limit;
}

void Call::receive_ahead(Connection& connection) noexcept {
  if ((flags_ & MSG_DONTWAIT) != 0) return;
  if (connection.receive_ahead()) next_look_ = kLooksAheadFirst;
  looks_ahead_ = connection.may_receive_ahead();
}

int Call::wait(bool done) {
  if ((flags_ & MSG_DONTWAIT) != 0) return EAGAIN;
  End end = end_;
  if (looks_ahead_) {
    const auto look = std::chrono::steady_clock::now() + next_look_;
    next_look_ = std::min(2 * next_look_, kLooksAheadLast);
    if (!end || look < *end) end = look;
  }
  const HandlersRun before = handlers_run();
  const int found = wait_until(fd_, events_, end);
  if (found > 0) return 0;
  if (found == 0) return end == end_ ? EAGAIN : 0;
  // As in the kernel, a part is what a call that was interrupted answers.
  return errno == EINTR && !end_ && !done && restarts_after_signal(before) ? 0 : errno;
}

int Call::pause(const timespec& time, bool done) {
  if ((flags_ & MSG_DONTWAIT) != 0 || over(end_)) return EAGAIN;
  const HandlersRun before = handlers_run();
  if (nanosleep(&time, nullptr) == 0) return 0;
  return !end_ && !done && restarts_after_signal(before) ? 0 : errno;
}

ssize_t answer(std::size_t done, int code) noexcept {
  if (done != 0 || code == 0) return static_cast<ssize_t>(done);
  errno = code;
  return -1;
}

ssize_t go_on_with_kernel(int fd, Buffers& buffers, int flags, bool sends) {
  if (!has_uring()) return answer(buffers.done(), EBADF);
  ssize_t bytes;
  do {
    Buffers::Window window;
    const std::span<iovec> rest = buffers.next(window, SIZE_MAX);
    msghdr message{};
    message.msg_iov = rest.data();
    message.msg_iovlen = rest.size();
    bytes = sends ? real().sendmsg(fd, &message, flags) : real().recvmsg(fd, &message, flags);
    if (bytes > 0) buffers.advance(static_cast<std::size_t>(bytes));
  } while (sends && bytes > 0 && !buffers.empty());
  return answer(buffers.done(), bytes < 0 ? errno : 0);
}

}  // namespace preload
