// SPDX-License-Identifier: MIT
// A thread that evaluates tables until it is stopped.
#pragma once

#include <atomic>
#include <exception>
#include <initializer_list>
#include <optional>
#include <vector>

#include "dsfabric/thread.hpp"
#include "dtutils/joinable_thread.hpp"
#include "sst/pace.hpp"

namespace sst {

/// What a user may choose about a PollingThread.
struct PollingThreadOptions {
  /// The core it runs on; empty: any.
  std::optional<int> core = {};
  /// Never yields or sleeps: for a core that it has for itself.
  bool never_rests = false;
};

/// The paper's detector thread (section 4.3, table 1): predicates and triggers of its tables run on
/// it, one after the other, so they need no lock among themselves. No other thread evaluates these
/// tables while it lives; the tables outlive it.
///
///     sst::PollingThread detector{fabric, {table.hook(), other.hook()}};
///
/// An exception of a trigger ends the thread. It goes to the upcall of Fabric::on_exception at
/// once, where there is one, and `stop` throws it again. An exception that neither has taken ends
/// the process by std::terminate when the PollingThread is destroyed.
class PollingThread {
 public:
  /// Throws Error when it may not run on that core. Setup only.
  PollingThread(dsfabric::Fabric& fabric, std::initializer_list<dsfabric::ProgressHook> tables,
                const PollingThreadOptions& options = {});
  PollingThread(const PollingThread&) = delete;
  PollingThread& operator=(const PollingThread&) = delete;
  ~PollingThread();

  /// Ends it after the round that it is in. Not from a trigger: use `end`. Setup only.
  void stop();
  /// The same without waiting for it. Any thread, wait-free.
  void end() noexcept { ending_.store(true, std::memory_order_relaxed); }

 private:
  void run(const PollingThreadOptions& options) noexcept;

  dsfabric::Fabric& fabric_;
  std::vector<dsfabric::ProgressHook> tables_;
  Pace pace_;
  std::atomic<bool> ending_{false};
  std::exception_ptr thrown_;
  bool reported_ = false;
  dtutils::JoinableThread thread_;
};

/// The paper's reader thread (SST-reads). It fetches the rows of its tables, each at the pace that
/// Table::set_pace says, so that evaluation does not fetch them.
///
///     sst::PollingThread reader{fabric, {table.refresh_hook()}};
using PollingThread = PollingThread;

}  // namespace sst
