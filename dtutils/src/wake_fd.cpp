// SPDX-License-Identifier: MIT
// WakeFd: eventfd(2).
#include "dtutils/wake_fd.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"

namespace dtutils {

WakeFd::WakeFd() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) {
    throw Error("eventfd", "the kernel gives none", "raise the limit of open files", errno);
  }
}

WakeFd::~WakeFd() { close(fd_); }

void WakeFd::wake() noexcept {
  const std::uint64_t one = 1;
  // It fails only when the counter is full: then the sleeper is awake anyway.
  [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof one);
  signaled_descriptor();
}

void WakeFd::clear() noexcept {
  std::uint64_t count;
  [[maybe_unused]] const ssize_t got = ::read(fd_, &count, sizeof count);
}

}  // namespace dtutils
