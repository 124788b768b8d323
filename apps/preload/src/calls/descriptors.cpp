// SPDX-License-Identifier: MIT
// Exported: how descriptors are closed, copied and asked.
#include "descriptors.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include "connection.hpp"
#include "descriptor_table.hpp"
#include "real.hpp"

using namespace preload;

namespace {

/// The one argument that fcntl(2) and ioctl(2) may have: an integer or a pointer, which are passed
/// alike.
void* argument_of(va_list& list) { return va_arg(list, void*); }

int copied(int fd, int copy) noexcept {
  if (copy >= 0) enter_copy(fd, copy);
  return copy;
}

bool is_open(int fd) noexcept { return real().fcntl(fd, F_GETFD) >= 0; }

/// Signals for events (SIGIO) come from TCP. False, with errno: not once there is a stream.
bool permit_signals(Connection& connection, bool wanted) noexcept {
  const int code = wanted ? connection.stay_with_tcp() : 0;
  if (code != 0) errno = code;
  return code == 0;
}

int control(int fd, int command, void* argument) {
  if (command == F_SETFL) {
    if (const auto connection = table().lock<Connection>(fd)) {
      const auto flags = reinterpret_cast<std::intptr_t>(argument);
      if (!permit_signals(*connection, (flags & O_ASYNC) != 0)) return -1;
      connection->forget_manner();
      return real().fcntl(fd, command, argument);
    }
  }
  const int result = real().fcntl(fd, command, argument);
  const bool copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
  return copies ? copied(fd, result) : result;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int close(int fd) {
  leave(fd);
  return real().close(fd);
}

int close_range(unsigned first, unsigned last, int flags) noexcept {
  constexpr int kOnlyOnExec = 1 << 2;  // CLOSE_RANGE_CLOEXEC
  if ((flags & kOnlyOnExec) == 0) {
    const unsigned end = table().end();
    for (unsigned fd = first; fd < end && fd <= last; ++fd) leave(static_cast<int>(fd));
  }
  return real().close_range(first, last, flags);
}

void closefrom(int first) noexcept {
  close_range(static_cast<unsigned>(std::max(first, 0)), ~0u, 0);
}

int dup(int fd) noexcept { return copied(fd, real().dup(fd)); }

int dup2(int fd, int copy) noexcept {
  if (fd == copy || !is_open(fd)) return real().dup2(fd, copy);
  leave(copy);
  return copied(fd, real().dup2(fd, copy));
}

int dup3(int fd, int copy, int flags) noexcept {
  if (fd == copy || !is_open(fd)) return real().dup3(fd, copy, flags);
  leave(copy);
  return copied(fd, real().dup3(fd, copy, flags));
}

int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* const argument = argument_of(list);
  va_end(list);
  return control(fd, command, argument);
}

int fcntl64(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* const argument = argument_of(list);
  va_end(list);
  return control(fd, command, argument);
}

int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* const argument = argument_of(list);
  va_end(list);
  if (request == FIONBIO || ((request == FIONREAD || request == FIOASYNC) && argument != nullptr)) {
    if (const auto connection = table().lock<Connection>(fd)) {
      if (request == FIOASYNC) {
        if (!permit_signals(*connection, *static_cast<const int*>(argument) != 0)) return -1;
        return real().ioctl(fd, request, argument);
      }
      if (request == FIONBIO) {
        connection->forget_manner();
        return real().ioctl(fd, request, argument);
      }
      *static_cast<int*>(argument) = connection->unread(fd);
      return 0;
    }
  }
  return real().ioctl(fd, request, argument);
}

}  // extern "C"
#pragma GCC visibility pop
