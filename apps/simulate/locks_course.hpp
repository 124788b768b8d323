// SPDX-License-Identifier: MIT
// What the workers of the workload locks see, and what must hold of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "nodes_course.hpp"

namespace simulate {

/// Locks of the workload; some of them have the same home.
inline constexpr std::uint32_t kLocks = 3;

/// The node whose memory has the lock.
inline std::uint32_t home_of(std::uint32_t lock, std::uint32_t nodes) {
  return lock % std::min(nodes, 2u);
}

/// Who waits for which lock, who holds it, and what it protects; the nodes share it.
class LockCourse : public NodesCourse {
 public:
  LockCourse(std::uint32_t nodes, std::uint32_t workers_of_a_node);

  /// What locks of this home protect is gone: a worker of it ends.
  void frees(std::uint32_t node) { freed_[node] = true; }

  /// The worker calls lock() or its like now, ...
  void asks(std::uint32_t worker, std::uint32_t lock, bool exclusive);
  /// ... stands in the queue now, ...
  void stands(std::uint32_t worker);
  /// ... and has the lock, with that mark, or does not want it any more.
  void enters(std::uint32_t worker, bool owner_died);
  void gives_up(std::uint32_t worker) { workers_[worker] = {}; }
  /// It releases the lock now.
  void leaves(std::uint32_t worker) { workers_[worker] = {}; }

  /// What a holder reads; `owner_died` as the mark says.
  void reads(std::uint32_t worker, std::uint64_t value, std::uint64_t copy, bool owner_died);
  /// What it is about to write, and what has been written when it leaves.
  void will_write(std::uint32_t worker, std::uint64_t value);
  void has_written(std::uint32_t worker, std::uint64_t value);

 private:
  struct Worker {
    std::uint32_t lock = kLocks;
    bool exclusive = false;
    bool holds = false;
    std::chrono::nanoseconds asked{0};
    /// Since when it stands in the queue.
    std::optional<std::chrono::nanoseconds> stands;
  };
  /// The home of its lock has not given it up, and has what the lock protects, so what it does with
  /// the lock counts.
  bool counts(std::uint32_t worker) const;
  void check_holders(std::uint32_t worker, bool owner_died);
  void check_order(std::uint32_t worker);

  std::vector<Worker> workers_;
  std::vector<bool> freed_;
  /// What is there behind a lock.
  struct Behind {
    std::uint64_t written = 0;
    /// What may be there instead, since whoever wrote it may have been cut off.
    std::vector<std::uint64_t> perhaps;
  };
  std::vector<Behind> behind_;
};

}  // namespace simulate
