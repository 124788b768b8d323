// SPDX-License-Identifier: MIT
// Exported: epoll.
#include <sys/epoll.h>

#include <cerrno>

#include "descriptor_table.hpp"
#include "descriptors.hpp"
#include "epoll_set.hpp"
#include "real.hpp"
#include "uring.hpp"

using namespace preload;

namespace {

/// The set at `fd`; nullptr when the kernel alone knows it.
EpollSet* set_at(int fd) noexcept {
  const auto set = table().lock<EpollSet>(fd);
  if (set && has_uring() && set->leave_to_kernel(fd)) return nullptr;
  return set.entry;
}

bool is_valid(int most) noexcept {
  if (most > 0) return true;
  errno = EINVAL;
  return false;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int epoll_create1(int flags) noexcept {
  const int fd = real().epoll_create1(flags);
  if (fd >= 0 && !has_uring()) enter_epoll_set(fd);
  return fd;
}

int epoll_create(int size) noexcept {
  if (!is_valid(size)) return -1;
  return epoll_create1(0);
}

int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  const auto set = table().lock<EpollSet>(epoll);
  if (!set) return real().epoll_ctl(epoll, operation, fd, event);
  const int code = set->control(epoll, operation, fd, event);
  if (code == 0) return 0;
  errno = code;
  return -1;
}

int epoll_pwait(int epoll, epoll_event* events, int most, int milliseconds, const sigset_t* mask) {
  EpollSet* const set = set_at(epoll);
  if (set == nullptr) return real().epoll_pwait(epoll, events, most, milliseconds, mask);
  if (!is_valid(most)) return -1;
  return set->wait(epoll, events, most, end_after(milliseconds), mask);
}

int epoll_wait(int epoll, epoll_event* events, int most, int milliseconds) {
  return epoll_pwait(epoll, events, most, milliseconds, nullptr);
}

int epoll_pwait2(int epoll, epoll_event* events, int most, const timespec* timeout,
                 const sigset_t* mask) {
  EpollSet* const set = set_at(epoll);
  if (set == nullptr) return real().epoll_pwait2(epoll, events, most, timeout, mask);
  if (!is_valid(most)) return -1;
  return set->wait(epoll, events, most, end_after(timeout), mask);
}

}  // extern "C"
#pragma GCC visibility pop
