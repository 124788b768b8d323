// SPDX-License-Identifier: MIT
// What proc(5) tells of the node and of this process.
#pragma once

#include "monitoring/board.hpp"

namespace monitoring::detail {

class Page;

/// Counters of the node and of this process, and how they are brought up to date.
class NodeFigures {
 public:
  /// Makes the counters. Throws Error when /proc cannot be read, or the page is full.
  explicit NodeFigures(Page& page);
  /// Reads /proc; what cannot be read keeps its number. One thread at a time.
  void take() noexcept;

 private:
  bool take_load() noexcept;
  bool take_memory() noexcept;
  bool take_network() noexcept;
  bool take_process() noexcept;

  Counter threads_, running_, free_, received_, sent_, own_threads_, resident_;
};

}  // namespace monitoring::detail
