// SPDX-License-Identifier: MIT
// Ends the bench, with a sentence, when a child is gone or a step takes too long.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/harness/control_block.hpp"

namespace bench {

/// A thread of process 0 that sleeps in the kernel on the children's pidfds and looks at the time
/// a few times a second. It exists because the code under measurement spins without deadlines: when
/// the other side is gone nobody but a second thread can tell. It prints to stderr, kills the
/// children and ends the program with status 1, also in the middle of a batch.
/// Source: pidfd_open(2).
class Watchdog {
 public:
  /// Watches until destroyed. Call after the fork, before the main thread is pinned. Throws
  /// std::system_error when a pidfd cannot be had.
  Watchdog(std::string program, const ControlBlock& block, std::vector<pid_t> children);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// From now on `step` (such as "case a/8, variant raw") may take kStepLimit; the first one is
  /// "set-up". Main thread only.
  void begin_step(const std::string& step);

  /// What is being done. Main thread only.
  const std::string& step() const noexcept { return step_; }

 private:
  void watch();
  void check_deadline();
  [[noreturn]] void report_child(std::size_t index);
  [[noreturn]] void end_program(const std::string& reason);

  std::string program_;
  const ControlBlock& block_;
  std::vector<pid_t> children_;
  std::vector<int> pidfds_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // of the two below; only begin_step() writes them, the thread reads them
  std::string step_;
  double deadline_ns_ = 0;
  std::thread thread_;
};

}  // namespace bench
