// SPDX-License-Identifier: MIT
// Exported: how an io_uring is made, by syscall(2) or liburing. Programs go on without one where
// the kernel refuses it (sysctl kernel.io_uring_disabled), so they can do without.
#include "uring.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>

#include "real.hpp"

using namespace preload;

#pragma GCC visibility push(default)
extern "C" {

long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& each : arguments) each = va_arg(list, long);
  va_end(list);
  if (number == SYS_io_uring_setup && !permit_uring()) {
    errno = EPERM;
    return -1;
  }
  return real().syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                        arguments[4], arguments[5]);
}

// Of liburing, whose functions do not call each other by name.

int io_uring_setup(unsigned entries, void* parameters) {
  return permit_uring() ? real().uring_setup(entries, parameters) : -EPERM;
}

int io_uring_queue_init(unsigned entries, void* ring, unsigned flags) {
  return permit_uring() ? real().uring_init(entries, ring, flags) : -EPERM;
}

int io_uring_queue_init_params(unsigned entries, void* ring, void* parameters) {
  return permit_uring() ? real().uring_init_with(entries, ring, parameters) : -EPERM;
}

int io_uring_queue_init_mem(unsigned entries, void* ring, void* parameters, void* memory,
                            std::size_t size) {
  if (!permit_uring()) return -EPERM;
  return real().uring_init_in(entries, ring, parameters, memory, size);
}

}  // extern "C"
#pragma GCC visibility pop
