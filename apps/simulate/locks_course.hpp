// SPDX-License-Identifier: MIT
// What the workers of the workload locks see, and what must hold of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "dtutils/simulation.hpp"

namespace simulate {

/// Locks of the workload; some of them have the same home.
inline constexpr std::uint32_t kLocks = 3;

/// The node whose memory has the lock.
inline std::uint32_t home_of(std::uint32_t lock, std::uint32_t nodes) {
  return lock % std::min(nodes, 2u);
}

/// Who waits for which lock, who holds it, and what it protects; the nodes share it.
class LockCourse {
 public:
  LockCourse(std::uint32_t nodes, std::uint32_t workers_of_a_node);

  /// The fabric of a node, from its beginning to its end.
  void begins(dsfabric::Fabric& fabric);
  void ends(const dsfabric::Fabric& fabric);
  /// Some node has crashed, or believes that another one has.
  bool disturbed() const;
  /// It has crashed, or another one believes it.
  bool given_up(std::uint32_t node) const;

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

  /// Rounds of each worker.
  std::vector<std::uint32_t> rounds;
  /// Workers and nodes that need no home any more.
  std::vector<bool> finished;
  std::vector<bool> over;
  /// Workers that others wait for at most.
  bool unfinished(const dsfabric::Fabric& of) const;
  /// Nodes that were told to die within a protocol.
  std::uint32_t deaths = 0;

  void violated(std::string how) {
    if (violation.empty()) violation = std::move(how);
  }
  std::string violation;

 private:
  struct Worker {
    std::uint32_t lock = kLocks;
    bool exclusive = false;
    bool holds = false;
    std::chrono::nanoseconds asked{0};
    /// Since when it stands in the queue.
    std::optional<std::chrono::nanoseconds> stands;
  };
  std::uint32_t node_of(std::uint32_t worker) const { return worker / workers_of_a_node_; }
  /// The home of its lock has not given it up, so what it does with the lock counts.
  bool counts(std::uint32_t worker) const;
  bool believes_failed(std::uint32_t node, std::uint32_t other) const;
  void check_holders(std::uint32_t worker, bool owner_died);
  void check_order(std::uint32_t worker);

  const std::uint32_t workers_of_a_node_;
  std::vector<Worker> workers_;
  /// By node; nullptr: it has ended, or not begun.
  std::vector<const dsfabric::Fabric*> fabrics_;
  /// What is there behind a lock.
  struct Behind {
    std::uint64_t written = 0;
    /// What may be there instead, since whoever wrote it may have been cut off.
    std::vector<std::uint64_t> perhaps;
  };
  std::vector<Behind> behind_;
};

}  // namespace simulate
