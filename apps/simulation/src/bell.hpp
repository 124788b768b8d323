// SPDX-License-Identifier: MIT
// Owner of an eventfd(2) that wakes a thread of a node.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "dtutils/error.hpp"
#include "dtutils/simulation.hpp"
#include "dtutils/wait.hpp"

namespace simulation {

class Bell {
 public:
  /// Of a node. Throws Error.
  Bell(dtutils::Simulation& cluster, dtutils::Simulation::Node node)
      : cluster_(cluster), node_(node), fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ >= 0) return;
    throw dtutils::Error("simulation", "the kernel gives no descriptor",
                         "raise the limit of open files (ulimit -n): a node needs six", errno);
  }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  ~Bell() { close(fd_); }

  int fd() const noexcept { return fd_; }
  void ring() noexcept {
    eventfd_write(fd_, 1);
    cluster_.signaled(node_);
  }
  /// Forgets that it rang.
  void clear() noexcept {
    eventfd_t count;
    eventfd_read(fd_, &count);
  }
  /// Returns when it rings, or then.
  void wait_until(dtutils::Clock::time_point end) noexcept {
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(end - dtutils::Clock::now());
    pollfd waiting[] = {{fd_, POLLIN, 0}};
    (void)dtutils::wait_for_events(waiting, std::max(left, milliseconds(0)));
  }

 private:
  dtutils::Simulation& cluster_;
  const dtutils::Simulation::Node node_;
  const int fd_;
};

}  // namespace simulation
