// SPDX-License-Identifier: MIT
// ppoll by pselect, where there is no other way.
#include "kernel_poll.hpp"

#include <sys/resource.h>
#include <sys/select.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "real.hpp"

namespace preload {
namespace {

constexpr short kToRead = POLLIN | POLLRDNORM;
constexpr short kToWrite = POLLOUT | POLLWRNORM;

bool is_above_limit(nfds_t count) noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && count > limit.rlim_cur;
}

int select_kernel(std::span<pollfd> entries, const timespec* time, const sigset_t* mask) {
  fd_set reads, writes, urgent;
  FD_ZERO(&reads);
  FD_ZERO(&writes);
  FD_ZERO(&urgent);
  int end = 0;
  for (pollfd& entry : entries) {
    entry.revents = 0;
    if (entry.fd < 0) continue;
    if (entry.fd >= FD_SETSIZE) {
      errno = EINVAL;
      return -1;
    }
    end = std::max(end, entry.fd + 1);
    if ((entry.events & kToRead) != 0) FD_SET(entry.fd, &reads);
    if ((entry.events & kToWrite) != 0) FD_SET(entry.fd, &writes);
    if ((entry.events & POLLPRI) != 0) FD_SET(entry.fd, &urgent);
  }
  if (real().pselect(end, &reads, &writes, &urgent, time, mask) < 0) return -1;
  int found = 0;
  for (pollfd& entry : entries) {
    if (entry.fd < 0) continue;
    int events = FD_ISSET(entry.fd, &reads) ? kToRead : 0;
    if (FD_ISSET(entry.fd, &writes)) events |= kToWrite;
    if (FD_ISSET(entry.fd, &urgent)) events |= POLLPRI;
    entry.revents = static_cast<short>(events & entry.events);
    if (entry.revents != 0) ++found;
  }
  return found;
}

}  // namespace

int poll_kernel(pollfd* entries, nfds_t count, const timespec* time, const sigset_t* mask) {
  const int found = real().ppoll(entries, count, time, mask);
  if (found >= 0 || errno != EINVAL || !is_above_limit(count)) return found;
  return select_kernel(std::span(entries, count), time, mask);
}

}  // namespace preload
