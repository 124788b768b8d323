// SPDX-License-Identifier: MIT
// Eventfds of threads.
#include "waiter.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "process.hpp"
#include "real.hpp"

namespace preload {
namespace {

/// Closed when the thread ends. A forked child makes one of its own: the parent's is shared.
struct WakeDescriptor {
  ~WakeDescriptor() {
    if (fd >= 0) real().close(fd);
  }
  int fd = -1;
  unsigned process = 0;
};

thread_local WakeDescriptor wake_of_this_thread;

}  // namespace

int wake_descriptor() noexcept {
  WakeDescriptor& wake = wake_of_this_thread;
  if (wake.fd >= 0 && wake.process == forks()) return wake.fd;
  if (wake.fd >= 0) real().close(wake.fd);
  wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  wake.process = forks();
  return wake.fd;
}

void take_wakes() noexcept {
  std::uint64_t count;
  if (wake_of_this_thread.fd >= 0) {
    static_cast<void>(real().read(wake_of_this_thread.fd, &count, sizeof count));
  }
}

void Sleepers::wake(int except) noexcept {
  const std::uint64_t one = 1;
  for (const int fd : wakes_) {
    if (fd >= 0 && fd != except) static_cast<void>(real().write(fd, &one, sizeof one));
  }
}

}  // namespace preload
