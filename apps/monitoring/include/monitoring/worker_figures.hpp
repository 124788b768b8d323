// SPDX-License-Identifier: MIT
// What a worker counts for itself, on the board of its process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "dsfabric/thread.hpp"
#include "monitoring/board.hpp"

namespace monitoring {

/// Takes totals of one worker to the board, which other threads must not read where they are
/// counted: calls and stalls of its rings, locks, hits of its cache of memory.
///
///     monitoring::WorkerFigures figures(self, board);
///     figures.total("calls.made", [&] { return messenger.rings().issued(); });
///     figures.total("locks.waited", [&] { return space.counters().waited; });
///
/// Every `interval`, at most, a progress() of the worker asks for the totals and adds what they
/// grew by, so that a counter is the sum of all workers; in between a progress() costs one more
/// comparison, mostly. What a worker counts while it never makes progress is seen later. Owner
/// thread only; what the functions use outlives it, and the Thread does.
class WorkerFigures {
 public:
  explicit WorkerFigures(dsfabric::Thread& self, Board& board,
                         std::chrono::nanoseconds interval = std::chrono::milliseconds(50));
  WorkerFigures(const WorkerFigures&) = delete;
  WorkerFigures& operator=(const WorkerFigures&) = delete;
  /// Takes the last totals.
  ~WorkerFigures();

  /// A total that only grows. Throws as Board::counter. Setup only.
  void total(std::string_view name, std::function<std::uint64_t()> now, std::string_view unit = {});
  /// Takes all totals now.
  void take() noexcept;

 private:
  struct Total {
    Counter counter;
    std::function<std::uint64_t()> now;
    std::uint64_t before;
  };
  bool step() noexcept;

  dsfabric::Thread& self_;
  Board& board_;
  const std::chrono::nanoseconds interval_;
  const dsfabric::ProgressHook hook_;
  std::vector<Total> totals_;
  std::uint32_t steps_ = 0;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace monitoring
