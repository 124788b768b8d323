// SPDX-License-Identifier: MIT
// The threads that layers start: of the machine, or of a simulation.
#pragma once

#include <functional>
#include <optional>
#include <thread>

#include "dtutils/scheduler.hpp"

namespace dtutils {

/// A std::thread that belongs to the simulation of the thread that starts it, if there is one. As
/// there, it must be joined before it is destroyed. Owner thread only.
class JoinableThread {
 public:
  /// No thread.
  JoinableThread() noexcept = default;
  /// Starts a thread that runs `body`. Throws std::system_error.
  explicit JoinableThread(std::function<void()> body);

  /// Waits for the end of `body`; as std::thread::join.
  void join();
  /// Whether it has been started and not been joined.
  bool joinable() const noexcept { return thread_.joinable(); }
  /// The handle of pthreads.
  std::thread::native_handle_type native_handle() { return thread_.native_handle(); }

 private:
  std::optional<Scheduler::ThreadNumber> number_;
  std::thread thread_;
};

/// Cores of this machine, or of the simulated one; at least 1. Any thread.
unsigned cores() noexcept;

}  // namespace dtutils
