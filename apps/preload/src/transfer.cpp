// SPDX-License-Identifier: MIT
// Loops around the steps of a connection.
#include "transfer.hpp"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "asynchronous.hpp"
#include "call.hpp"
#include "connection.hpp"
#include "descriptor_table.hpp"
#include "kernel_socket.hpp"
#include "peek.hpp"
#include "real.hpp"
#include "upgrade.hpp"

namespace preload {
namespace {

/// Bytes of a file that are sent at a time, from the stack of a thread of the program.
constexpr std::size_t kFilePiece = 16384;

bool has_handler(int signal) noexcept {
  struct sigaction action;
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_DFL &&
         action.sa_handler != SIG_IGN;
}

class NotCancelled {
 public:
  NotCancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;
  ~NotCancelled() { pthread_setcancelstate(before_, nullptr); }

 private:
  int before_;
};

}  // namespace

bool is_connection(int fd) noexcept {
  const Entry* const entry = table().find(fd);
  return entry != nullptr && entry->kind() == Entry::Kind::kConnection;
}

ssize_t receive(int fd, std::span<const iovec> parts, int flags) {
  pthread_testcancel();
  if ((flags & MSG_PEEK) != 0) {
    if (parts.size() > 1) return peek_parts(fd, parts, flags);
    if ((flags & MSG_WAITALL) != 0) return peek_all(fd, parts, flags);
  }
  Buffers buffers(parts);
  Call call(fd, flags, POLLIN);
  const bool all = (flags & MSG_WAITALL) != 0;
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
    code = call.wait(buffers.done() != 0);
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
    if (code == EAGAIN) code = call.wait(buffers.done() != 0);
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
