// SPDX-License-Identifier: MIT
// A thread that keeps figures of the node and the process on the board.
#pragma once

#include <chrono>
#include <exception>
#include <memory>

#include "dsfabric/fabric.hpp"
#include "dtutils/joinable_thread.hpp"
#include "dtutils/wake_fd.hpp"

namespace monitoring {

namespace detail {
class Page;
class NodeFigures;
}  // namespace detail

/// Every `interval` it sets the counters of the node (from proc(5): node.threads, node.running,
/// node.free, node.received, node.sent) and of this process (process.threads, process.resident),
/// and copies all counters of the board for the schemes that read a copy (Scheme::kRdmaAsync,
/// kMessageAsync). It sleeps in between. Two at once in a process only cost more.
class Sampler {
 public:
  /// Throws as Board, and Error when /proc cannot be read, or `interval` is not positive or longer
  /// than a year. Setup only.
  explicit Sampler(dsfabric::Fabric& fabric,
                   std::chrono::nanoseconds interval = std::chrono::milliseconds(50));
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  /// Waits for the thread, which ends at once.
  ~Sampler();

 private:
  void run(std::chrono::nanoseconds interval) noexcept;

  std::shared_ptr<detail::Page> page_;
  dtutils::WakeFd ending_;
  dtutils::JoinableThread thread_;
};

}  // namespace monitoring
