// SPDX-License-Identifier: MIT
// Exported: how connections begin, and shutdown.
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "connection.hpp"
#include "descriptor_table.hpp"
#include "descriptors.hpp"
#include "presence.hpp"
#include "real.hpp"

using namespace preload;

#pragma GCC visibility push(default)
extern "C" {

int listen(int fd, int backlog) noexcept {
  const int result = real().listen(fd, backlog);
  if (result != 0 || table().find(fd) != nullptr) return result;
  const int code = errno;
  if (const int presence = announce(fd); presence >= 0) enter_listening(fd, presence);
  errno = code;
  return result;
}

int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  const int accepted = real().accept4(fd, address, length, flags);
  if (accepted >= 0 && is_marked(accepted)) enter_connection(accepted, false);
  return accepted;
}

int accept(int fd, sockaddr* address, socklen_t* length) { return accept4(fd, address, length, 0); }

int connect(int fd, const sockaddr* address, socklen_t length) {
  const bool known = table().find(fd) != nullptr;
  if (known || !is_announced(address, length)) return real().connect(fd, address, length);
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

}  // extern "C"
#pragma GCC visibility pop
