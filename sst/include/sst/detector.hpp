// SPDX-License-Identifier: MIT
// A thread that evaluates tables for ever.
#pragma once

#include <atomic>
#include <exception>
#include <initializer_list>
#include <optional>
#include <thread>
#include <vector>

#include "dsfabric/thread.hpp"
#include "sst/pace.hpp"

namespace sst {

struct DetectorOptions {
  /// The core it runs on; empty: any.
  std::optional<int> core = {};
  /// Never yields or sleeps: for a core that it has for itself.
  bool never_rests = false;
};

/// The paper's detector thread (section 4.3, table 1): predicates and triggers of its tables run on
/// it, one after the other, so they need no lock among themselves. Nobody else evaluates these
/// tables while it lives; they outlive it.
///
///     sst::Detector detector{fabric, {table.hook(), other.hook()}};
///
/// An exception of a trigger ends the thread. It goes to the upcall of Fabric::on_exception at
/// once, where there is one, and `stop` throws it again. One that neither has taken ends the
/// process by std::terminate when the Detector is destroyed, as one that leaves a std::thread does.
class Detector {
 public:
  /// Throws Error when it may not run on that core. Setup only.
  Detector(dsfabric::Fabric& fabric, std::initializer_list<dsfabric::ProgressHook> tables,
           const DetectorOptions& options = {});
  Detector(const Detector&) = delete;
  Detector& operator=(const Detector&) = delete;
  ~Detector();

  /// Ends it after the round that it is in. Not from a trigger: use `end`. Setup only.
  void stop();
  /// The same without waiting for it. Any thread, wait-free.
  void end() noexcept { ending_.store(true, std::memory_order_relaxed); }

 private:
  void run(const DetectorOptions& options) noexcept;

  dsfabric::Fabric& fabric_;
  std::vector<dsfabric::ProgressHook> tables_;
  Pace pace_;
  std::atomic<bool> ending_{false};
  std::exception_ptr thrown_;
  bool reported_ = false;
  std::thread thread_;
};

/// The paper's reader thread (SST-reads): fetches the rows of its tables for ever, at the pace of
/// each (Table::set_pace), so that evaluating need not.
///
///     sst::Reader reader{fabric, {table.refresh_hook()}};
using Reader = Detector;

}  // namespace sst
