// SPDX-License-Identifier: MIT
// Exported: poll and select.
#include <poll.h>
#include <sys/select.h>
#include <sys/time.h>

#include <cerrno>
#include <vector>

#include "call_memory.hpp"
#include "poll.hpp"
#include "real.hpp"

using namespace preload;

namespace {

/// One bit of a set that is larger than FD_SETSIZE allows, as programs have them.
bool has(const fd_set* set, int fd) {
  if (set == nullptr) return false;
  const auto* const words = reinterpret_cast<const unsigned long*>(set);
  constexpr unsigned kBits = 8 * sizeof(unsigned long);
  return (words[static_cast<unsigned>(fd) / kBits] >> (static_cast<unsigned>(fd) % kBits) & 1) != 0;
}

void clear(fd_set* set, int fd) {
  auto* const words = reinterpret_cast<unsigned long*>(set);
  constexpr unsigned kBits = 8 * sizeof(unsigned long);
  words[static_cast<unsigned>(fd) / kBits] &= ~(1ul << (static_cast<unsigned>(fd) % kBits));
}

/// What the kernel's select(2) takes for each of the three sets.
constexpr short kReadSet = POLLRDNORM | POLLRDBAND | POLLIN | POLLHUP | POLLERR;
constexpr short kWriteSet = POLLWRNORM | POLLWRBAND | POLLOUT | POLLERR;
constexpr short kExceptSet = POLLPRI;

/// Leaves a bit where it was asked for and an event is there; how many are left.
int keep(fd_set* set, const pollfd& entry, short events) {
  if (!has(set, entry.fd)) return 0;
  if ((entry.revents & events) != 0) return 1;
  clear(set, entry.fd);
  return 0;
}

int select_until(int count, fd_set* in, fd_set* out, fd_set* except, End end,
                 const sigset_t* mask) {
  CallMemory memory;
  std::pmr::vector<pollfd> entries(memory.get());
  for (int fd = 0; fd < count; ++fd) {
    short events = 0;
    if (has(in, fd)) events |= POLLIN;
    if (has(out, fd)) events |= POLLOUT;
    if (has(except, fd)) events |= POLLPRI;
    if (events != 0) entries.push_back({fd, events, 0});
  }
  if (poll_until(entries.data(), entries.size(), end, mask) < 0) return -1;
  int found = 0;
  for (const pollfd& entry : entries) {
    if ((entry.revents & POLLNVAL) != 0) {
      errno = EBADF;
      return -1;
    }
    found += keep(in, entry, kReadSet);
    found += keep(out, entry, kWriteSet);
    found += keep(except, entry, kExceptSet);
  }
  return found;
}

bool any_of_ours(int count, const fd_set* in, const fd_set* out, const fd_set* except) {
  for (int fd = 0; fd < count; ++fd) {
    if ((has(in, fd) || has(out, fd) || has(except, fd)) && needs_poll_here(fd)) return true;
  }
  return false;
}

bool is_valid(const timespec* time) {
  if (time == nullptr || (time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < 1'000'000'000))
    return true;
  errno = EINVAL;
  return false;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int poll(pollfd* entries, nfds_t count, int milliseconds) {
  return poll_until(entries, count, end_after(milliseconds), nullptr);
}
int __poll_chk(pollfd* entries, nfds_t count, int milliseconds, std::size_t) {
  return poll(entries, count, milliseconds);
}

int ppoll(pollfd* entries, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  if (!is_valid(timeout)) return -1;
  return poll_until(entries, count, end_after(timeout), mask);
}
int __ppoll_chk(pollfd* entries, nfds_t count, const timespec* timeout, const sigset_t* mask,
                std::size_t) {
  return ppoll(entries, count, timeout, mask);
}

int pselect(int count, fd_set* in, fd_set* out, fd_set* except, const timespec* timeout,
            const sigset_t* mask) {
  if (!any_of_ours(count, in, out, except)) {
    return real().pselect(count, in, out, except, timeout, mask);
  }
  if (!is_valid(timeout)) return -1;
  return select_until(count, in, out, except, end_after(timeout), mask);
}

int select(int count, fd_set* in, fd_set* out, fd_set* except, timeval* timeout) {
  if (!any_of_ours(count, in, out, except)) {
    return real().select(count, in, out, except, timeout);
  }
  if (timeout == nullptr) return select_until(count, in, out, except, std::nullopt, nullptr);
  // More microseconds than a second has are as good.
  const timespec time{timeout->tv_sec + timeout->tv_usec / 1'000'000,
                      timeout->tv_usec % 1'000'000 * 1000};
  if (!is_valid(&time)) return -1;
  const End end = end_after(&time);
  const int found = select_until(count, in, out, except, end, nullptr);
  // As on Linux: what is left of the time.
  timespec left;
  time_left(end, left);
  timeout->tv_sec = left.tv_sec;
  timeout->tv_usec = left.tv_nsec / 1000;
  return found;
}

}  // extern "C"
#pragma GCC visibility pop
