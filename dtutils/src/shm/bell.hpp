// SPDX-License-Identifier: MIT
// The end of a pipe that wakes a thread of a peer, or of this process.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "shm/descriptor.hpp"

namespace dtutils::shm {

/// Keeps the pipe open. Empty: nobody is woken.
class Bell {
 public:
  Bell() noexcept = default;
  /// A pipe of this process, which outlives the bell.
  explicit Bell(int own) noexcept : fd_(own) {}
  /// A pipe of another process.
  explicit Bell(std::shared_ptr<const Descriptor> opened) noexcept
      : fd_(opened->get()), opened_(std::move(opened)) {}

  /// A system call, for rare events only. Holds no lock, since who is woken often takes the core at
  /// once, and other threads would wait until this one gets it back. Any thread.
  void ring(std::uint32_t message) const noexcept {
    if (fd_ < 0) return;
    // A full pipe has a reader that is about to look anyway.
    [[maybe_unused]] const ssize_t written = write(fd_, &message, sizeof message);
  }

 private:
  int fd_ = -1;
  std::shared_ptr<const Descriptor> opened_;
};

}  // namespace dtutils::shm
