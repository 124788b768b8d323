// SPDX-License-Identifier: MIT
// The C library's own functions, in front of which this library puts its own.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstdarg>
#include <cstddef>
#include <cstdio>

namespace preload {

/// What the exported functions call when a descriptor is none of theirs.
struct Real {
  int (*listen)(int, int);
  int (*accept4)(int, sockaddr*, socklen_t*, int);
  int (*connect)(int, const sockaddr*, socklen_t);
  ssize_t (*read)(int, void*, std::size_t);
  ssize_t (*write)(int, const void*, std::size_t);
  ssize_t (*readv)(int, const iovec*, int);
  ssize_t (*writev)(int, const iovec*, int);
  ssize_t (*recv)(int, void*, std::size_t, int);
  ssize_t (*send)(int, const void*, std::size_t, int);
  ssize_t (*recvfrom)(int, void*, std::size_t, int, sockaddr*, socklen_t*);
  ssize_t (*sendto)(int, const void*, std::size_t, int, const sockaddr*, socklen_t);
  ssize_t (*recvmsg)(int, msghdr*, int);
  ssize_t (*sendmsg)(int, const msghdr*, int);
  int (*recvmmsg)(int, mmsghdr*, unsigned, int, timespec*);
  int (*sendmmsg)(int, mmsghdr*, unsigned, int);
  ssize_t (*sendfile)(int, int, off64_t*, std::size_t);
  ssize_t (*splice)(int, off64_t*, int, off64_t*, std::size_t, unsigned);
  int (*shutdown)(int, int);
  int (*setsockopt)(int, int, int, const void*, socklen_t);
  int (*close)(int);
  int (*close_range)(unsigned, unsigned, int);
  int (*dup)(int);
  int (*dup2)(int, int);
  int (*dup3)(int, int, int);
  int (*fcntl)(int, int, ...);
  int (*ioctl)(int, unsigned long, ...);
  int (*ppoll)(pollfd*, nfds_t, const timespec*, const sigset_t*);
  int (*pselect)(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*);
  int (*epoll_create1)(int);
  int (*epoll_ctl)(int, int, int, epoll_event*);
  int (*epoll_pwait)(int, epoll_event*, int, int, const sigset_t*);
  int (*epoll_pwait2)(int, epoll_event*, int, const timespec*, const sigset_t*);
  int (*select)(int, fd_set*, fd_set*, fd_set*, timeval*);
  FILE* (*fdopen)(int, const char*);
  int (*fclose)(FILE*);
  int (*vdprintf)(int, const char*, va_list);
  void (*exit_now)(int);
  int (*execve)(const char*, char* const*, char* const*);
  int (*execvpe)(const char*, char* const*, char* const*);
  int (*fexecve)(int, char* const*, char* const*);
  int (*sigaction)(int, const struct sigaction*, struct sigaction*);
  sighandler_t (*signal)(int, sighandler_t);
  sighandler_t (*sysv_signal)(int, sighandler_t);
  /// Of liburing; nullptr where the program has none, and does not call them.
  int (*uring_setup)(unsigned, void*);
  int (*uring_init)(unsigned, void*, unsigned);
  int (*uring_init_with)(unsigned, void*, void*);
  int (*uring_init_in)(unsigned, void*, void*, void*, std::size_t);
  ssize_t (*preadv2)(int, const iovec*, int, off64_t, int);
  ssize_t (*pwritev2)(int, const iovec*, int, off64_t, int);
};

/// Found by name once. Any thread.
const Real& real() noexcept;

}  // namespace preload
