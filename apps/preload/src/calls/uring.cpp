// SPDX-License-Identifier: MIT
// Exported: how an io_uring is made, by syscall(2) or liburing. Programs go on without one where
// the kernel refuses it (sysctl kernel.io_uring_disabled), so they can do without. And forks by
// syscall(2), as vsftpd makes them for namespaces.
#include "uring.hpp"

#include <dlfcn.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>

#include "descriptors.hpp"
#include "fork.hpp"
#include "real.hpp"

using namespace preload;

namespace {

/// False: the process has had streams.
bool may_have_uring() noexcept {
  const bool before = has_uring();
  if (!permit_uring()) return false;
  if (!before) leave_all_to_kernel();
  return true;
}

/// As the kernel answers: errno values are negative. Allocators call syscall(2) while they begin,
/// when the C library's own function cannot be looked up yet.
long call_kernel(long number, const long (&arguments)[6]) noexcept {
#if defined(__x86_64__)
  long answer;
  register long fourth asm("r10") = arguments[3];
  register long fifth asm("r8") = arguments[4];
  register long sixth asm("r9") = arguments[5];
  asm volatile("syscall"
               : "=a"(answer)
               : "a"(number), "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(fourth),
                 "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  return answer;
#elif defined(__aarch64__)
  register long name asm("x8") = number;
  register long first asm("x0") = arguments[0];
  register long second asm("x1") = arguments[1];
  register long third asm("x2") = arguments[2];
  register long fourth asm("x3") = arguments[3];
  register long fifth asm("x4") = arguments[4];
  register long sixth asm("x5") = arguments[5];
  asm volatile("svc 0"
               : "+r"(first)
               : "r"(name), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
               : "memory");
  return first;
#else
  using Syscall = long (*)(long, ...);
  static const auto library = reinterpret_cast<Syscall>(dlsym(RTLD_NEXT, "syscall"));
  const long answer = library(number, arguments[0], arguments[1], arguments[2], arguments[3],
                              arguments[4], arguments[5]);
  return answer == -1 ? -errno : answer;
#endif
}

/// Whether it makes a process that has a copy of the memory, and goes on behind the call.
bool forks(long number, const long (&arguments)[6]) noexcept {
#if defined(SYS_fork)
  if (number == SYS_fork) return true;
#endif
  // The stack follows the flags.
  if (number == SYS_clone) return (arguments[0] & CLONE_VM) == 0 && arguments[1] == 0;
  if (number != SYS_clone3 || arguments[0] == 0) return false;
  const auto& wanted = *reinterpret_cast<const clone_args*>(arguments[0]);
  return (wanted.flags & CLONE_VM) == 0 && wanted.stack == 0;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& each : arguments) each = va_arg(list, long);
  va_end(list);
  if (number == SYS_io_uring_setup && !may_have_uring()) {
    errno = EPERM;
    return -1;
  }
  const bool forking = forks(number, arguments);
  if (forking) begin_unseen_fork();
  const long answer = call_kernel(number, arguments);
  if (forking) end_unseen_fork(answer == 0);
  constexpr long kLargestCode = 4095;
  if (answer >= 0 || answer < -kLargestCode) return answer;
  errno = static_cast<int>(-answer);
  return -1;
}

// Of liburing, whose functions do not call each other by name.

int io_uring_setup(unsigned entries, void* parameters) {
  return may_have_uring() ? real().uring_setup(entries, parameters) : -EPERM;
}

int io_uring_queue_init(unsigned entries, void* ring, unsigned flags) {
  return may_have_uring() ? real().uring_init(entries, ring, flags) : -EPERM;
}

int io_uring_queue_init_params(unsigned entries, void* ring, void* parameters) {
  return may_have_uring() ? real().uring_init_with(entries, ring, parameters) : -EPERM;
}

int io_uring_queue_init_mem(unsigned entries, void* ring, void* parameters, void* memory,
                            std::size_t size) {
  if (!may_have_uring()) return -EPERM;
  return real().uring_init_in(entries, ring, parameters, memory, size);
}

}  // extern "C"
#pragma GCC visibility pop
