// SPDX-License-Identifier: MIT
// Loops around the steps of a connection.
#include "transfer.hpp"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

#include "asynchronous.hpp"
#include "connection.hpp"
#include "descriptor_table.hpp"
#include "kernel_socket.hpp"
#include "poll.hpp"
#include "real.hpp"
#include "upgrade.hpp"
#include "uring.hpp"

namespace preload {
namespace {

/// Bytes of a file that are sent at a time, from the stack of a thread of the program.
constexpr std::size_t kFilePiece = 16384;

/// Who waits for space looks for bytes that it can receive meanwhile after so long, and twice as
/// long each time that there were none.
constexpr std::chrono::milliseconds kLooksAheadFirst{1};
constexpr std::chrono::milliseconds kLooksAheadLast{64};

bool has_handler(int signal) noexcept {
  struct sigaction action;
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_DFL &&
         action.sa_handler != SIG_IGN;
}

/// The kernel goes on with an interrupted receive when the handler was installed with SA_RESTART,
/// but never with a poll. Which handler it was is not known: one without makes the call end.
bool restarts_after_signal() noexcept {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action;
    if (sigaction(signal, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) continue;
    if ((action.sa_flags & SA_RESTART) == 0) return false;
  }
  return true;
}

/// One call that moves bytes until it is done or may not wait.
class Call {
 public:
  Call(int fd, int flags, short events) noexcept : fd_(fd), flags_(flags), events_(events) {}

  /// Before the first wait, while the connection is locked.
  void learn(Connection& connection) noexcept {
    if (known_ || (flags_ & MSG_DONTWAIT) != 0) return;
    known_ = true;
    const Manner manner = connection.manner(fd_);
    if (manner.non_blocking) flags_ |= MSG_DONTWAIT;
    const auto limit = events_ == POLLIN ? manner.receive_limit : manner.send_limit;
    if (limit.count() != 0) end_ = std::chrono::steady_clock::now() + limit;
  }

  /// For a send, before each wait: the peer may wait for space as well.
  void receive_ahead(Connection& connection) noexcept {
    if ((flags_ & MSG_DONTWAIT) != 0) return;
    if (connection.receive_ahead()) next_look_ = kLooksAheadFirst;
    looks_ahead_ = connection.may_receive_ahead();
  }

  /// Waits for the event. 0: go on; an errno value: the call ends.
  int wait() {
    if ((flags_ & MSG_DONTWAIT) != 0) return EAGAIN;
    End end = end_;
    if (looks_ahead_) {
      const auto look = std::chrono::steady_clock::now() + next_look_;
      next_look_ = std::min(2 * next_look_, kLooksAheadLast);
      if (!end || look < *end) end = look;
    }
    const int found = wait_until(fd_, events_, end);
    if (found > 0) return 0;
    if (found == 0) return end == end_ ? EAGAIN : 0;
    return errno == EINTR && !end_ && restarts_after_signal() ? 0 : errno;
  }

 private:
  int fd_;
  int flags_;
  short events_;
  bool known_ = false;
  End end_;
  bool looks_ahead_ = false;
  std::chrono::milliseconds next_look_ = kLooksAheadFirst;
};

class NotCancelled {
 public:
  NotCancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;
  ~NotCancelled() { pthread_setcancelstate(before_, nullptr); }

 private:
  int before_;
};

ssize_t answer(std::size_t done, int code) noexcept {
  if (done != 0 || code == 0) return static_cast<ssize_t>(done);
  errno = code;
  return -1;
}

/// The descriptor was closed, or is the kernel's alone now, since the process has an io_uring.
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

}  // namespace

bool is_connection(int fd) noexcept {
  const Entry* const entry = table().find(fd);
  return entry != nullptr && entry->kind() == Entry::Kind::kConnection;
}

ssize_t receive(int fd, std::span<const iovec> parts, int flags) {
  pthread_testcancel();
  Buffers buffers(parts);
  Call call(fd, flags, POLLIN);
  const bool all = (flags & MSG_WAITALL) != 0 && (flags & MSG_PEEK) == 0;
  for (;;) {
    auto connection = table().lock<Connection>(fd);
    if (!connection) break;
    const std::size_t before = buffers.done();
    int code = connection->try_receive(fd, buffers, flags);
    const std::size_t bytes = buffers.done() - before;
    if (bytes != 0 && connection->count_receive(bytes)) ask_for_stream(*connection, fd);
    if (code == EAGAIN) call.learn(*connection);
    connection.lock.unlock();
    const bool more = all && buffers.done() != before && !buffers.empty();
    if (code != EAGAIN && !more) return answer(buffers.done(), code);
    if (more) continue;
    code = call.wait();
    if (code != 0) return answer(buffers.done(), code);
  }
  return go_on_with_kernel(fd, buffers, flags, false);
}

ssize_t send(int fd, std::span<const iovec> parts, int flags) {
  pthread_testcancel();
  Buffers buffers(parts);
  Call call(fd, flags, POLLOUT);
  const std::size_t leave_from = leaves_from(fd, parts, flags);
  for (;;) {
    auto connection = table().lock<Connection>(fd);
    if (!connection) break;
    const std::size_t before = buffers.done();
    int code = connection->try_send(fd, buffers, flags, leave_from);
    const std::size_t sent = buffers.done() - before;
    if (sent != 0 && connection->count_send(sent)) ask_for_stream(*connection, fd);
    if (code == EAGAIN) {
      call.learn(*connection);
      call.receive_ahead(*connection);
    }
    connection.lock.unlock();
    if (code == 0 && buffers.empty()) return answer(buffers.done(), 0);
    if (code == EPIPE && buffers.done() == 0 && (flags & MSG_NOSIGNAL) == 0) {
      pthread_kill(pthread_self(), SIGPIPE);
    }
    if (code != 0 && code != EAGAIN) return answer(buffers.done(), code);
    if (code == EAGAIN) code = call.wait();
    if (code != 0) return answer(buffers.done(), code);
  }
  return go_on_with_kernel(fd, buffers, flags, true);
}

ssize_t send_file(int fd, int file, off64_t* offset, std::size_t length) noexcept {
  // A handler of SIGPIPE would run under the lock.
  if (is_non_blocking(fd) && !has_handler(SIGPIPE)) {
    auto connection = table().lock<Connection>(fd);
    if (connection && connection->sends_over_tcp()) {
      // Neither waits under the lock nor copies.
      const ssize_t sent = connection->send_file_over_tcp(fd, file, offset, length);
      if (sent > 0 && connection->count_send(static_cast<std::size_t>(sent))) {
        ask_for_stream(*connection, fd);
      }
      return sent;
    }
  }
  // sendfile(2) is no call at which threads are cancelled.
  const NotCancelled here;
  std::byte buffer[kFilePiece];
  off64_t place = offset != nullptr ? *offset : lseek64(file, 0, SEEK_CUR);
  if (place < 0) {
    if (offset != nullptr || errno == ESPIPE) errno = EINVAL;
    return -1;
  }
  std::size_t done = 0;
  ssize_t sent = 0;
  while (done < length) {
    const ssize_t got = pread64(file, buffer, std::min(length - done, sizeof buffer), place);
    if (got <= 0) {
      sent = got;
      break;
    }
    const iovec part{buffer, static_cast<std::size_t>(got)};
    sent = send(fd, std::span(&part, 1), 0);
    if (sent <= 0) break;
    done += static_cast<std::size_t>(sent);
    place += sent;
    if (sent != got) break;
  }
  const int code = errno;
  if (offset != nullptr) {
    *offset = place;
  } else {
    lseek64(file, place, SEEK_SET);
  }
  return answer(done, sent < 0 ? code : 0);
}

}  // namespace preload
