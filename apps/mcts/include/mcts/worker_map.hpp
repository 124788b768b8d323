// SPDX-License-Identifier: MIT
// The workers of a job as one of them sees them.
#pragma once

#include <cstdint>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "mcts/settings.hpp"

namespace mcts {

/// Ranks of all workers: which threads they are, where an object of each lies in its process, and
/// whose memory this worker shares. Any thread, wait-free, except the constructor and begin().
class WorkerMap {
 public:
  /// A collective of all workers, each with its own object. Setup only.
  WorkerMap(dsfabric::Thread& self, const void* mine)
      : rank_(static_cast<std::uint16_t>(self.fabric().rank_of(self.id()))),
        first_near_(static_cast<std::uint16_t>(rank_ - self.id().index)),
        near_(self.fabric().info(self.fabric().process()).threads),
        objects_(self.all_gather(reinterpret_cast<std::uint64_t>(mine))) {
    const dsfabric::Fabric& fabric = self.fabric();
    for (std::uint32_t rank = 0; rank < fabric.total_threads(); ++rank) {
      threads_.push_back(fabric.thread_of_rank(rank));
    }
  }

  /// Before each search. Setup only.
  void begin(const Settings& settings) noexcept { always_call_ = settings.always_call; }

  std::uint16_t rank() const noexcept { return rank_; }
  /// The workers of this process: `near()` of them from `first_near()` on.
  std::uint16_t first_near() const noexcept { return first_near_; }
  std::uint32_t near() const noexcept { return near_; }
  bool is_near(std::uint16_t rank) const noexcept {
    return static_cast<std::uint16_t>(rank - first_near_) < near_;
  }
  /// Whether a node of that worker is used without a call.
  bool is_in_reach(std::uint16_t rank) const noexcept { return is_near(rank) && !always_call_; }
  dsfabric::ThreadId thread_of(std::uint16_t rank) const noexcept { return threads_[rank]; }
  /// The address of its object in its process.
  std::uint64_t object_of(std::uint16_t rank) const noexcept { return objects_[rank]; }

 private:
  std::uint16_t rank_;
  std::uint16_t first_near_;
  std::uint32_t near_;
  bool always_call_ = false;
  std::vector<dsfabric::ThreadId> threads_;
  std::vector<std::uint64_t> objects_;
};

}  // namespace mcts
