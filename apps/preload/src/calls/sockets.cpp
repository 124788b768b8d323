// SPDX-License-Identifier: MIT
// Exported: how connections begin, and shutdown.
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "connection.hpp"
#include "descriptor_table.hpp"
#include "descriptors.hpp"
#include "hosts/settings.hpp"
#include "kernel_socket.hpp"
#include "presence.hpp"
#include "real.hpp"
#include "signals.hpp"
#include "uring.hpp"

using namespace preload;

namespace {

/// A new connection that is not known to have both sides on this host.
bool may_go_between_hosts(int fd) noexcept {
  const hosts::Settings* const settings = hosts::between_hosts();
  return settings != nullptr && (settings->local_as_remote ? is_tcp(fd) : has_two_addresses(fd));
}

/// Takes the address of this host for another one's.
bool is_taken_for_remote() noexcept {
  const hosts::Settings* const settings = hosts::between_hosts();
  return settings != nullptr && settings->local_as_remote;
}

int connect_plainly(int fd, const sockaddr* address, socklen_t length) {
  const int result = real().connect(fd, address, length);
  const int code = errno;
  if ((result == 0 || code == EINPROGRESS || code == EINTR) && may_go_between_hosts(fd)) {
    enter_connection(fd, true, true);
  }
  errno = code;
  return result;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int listen(int fd, int backlog) noexcept {
  const HoldSignals hold;
  const int result = real().listen(fd, backlog);
  if (result != 0 || has_uring() || table().find(fd) != nullptr) return result;
  const int code = errno;
  if (const int presence = announce(fd); presence >= 0) enter_listening(fd, presence);
  errno = code;
  return result;
}

int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  const int accepted = real().accept4(fd, address, length, flags);
  if (accepted < 0 || has_uring()) return accepted;
  const int code = errno;
  if (is_marked(accepted)) {
    enter_connection(accepted, false);
  } else if (may_go_between_hosts(accepted)) {
    enter_connection(accepted, false, true);
  }
  errno = code;
  return accepted;
}

int accept(int fd, sockaddr* address, socklen_t* length) { return accept4(fd, address, length, 0); }

int connect(int fd, const sockaddr* address, socklen_t length) {
  if (table().find(fd) != nullptr) {
    // The connection ends, and the socket may have another one.
    if (length >= sizeof address->sa_family && address->sa_family == AF_UNSPEC) leave(fd);
    return real().connect(fd, address, length);
  }
  if (has_uring()) return real().connect(fd, address, length);
  if (is_taken_for_remote() || !is_announced(address, length)) {
    return connect_plainly(fd, address, length);
  }
  int result;
  int code;
  {
    const Mark mark(fd);
    result = real().connect(fd, address, length);
    code = errno;
  }
  if (result == 0 || code == EINPROGRESS || code == EINTR) enter_connection(fd, true);
  errno = code;
  return result;
}

int shutdown(int fd, int how) noexcept {
  const auto connection = table().lock<Connection>(fd);
  return connection ? connection->shut_down(fd, how) : real().shutdown(fd, how);
}

int setsockopt(int fd, int level, int option, const void* value, socklen_t length) noexcept {
  if (const auto connection = table().lock<Connection>(fd)) {
    if (value != nullptr && asks_for_tcp(level, option, value, length)) {
      if (const int code = connection->stay_with_tcp(); code != 0 && option != SO_RCVLOWAT) {
        errno = code;
        return -1;
      }
    }
    connection->forget_manner();
  }
  return real().setsockopt(fd, level, option, value, length);
}

}  // extern "C"
#pragma GCC visibility pop
