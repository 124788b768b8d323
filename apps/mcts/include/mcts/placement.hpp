// SPDX-License-Identifier: MIT
// Which worker gets a new leaf: its node, or only its simulation.
#pragma once

#include <cstdint>

#include "mcts/random.hpp"
#include "mcts/settings.hpp"

namespace mcts {

/// Ranks of the job's workers, and which of them share memory with this one.
struct Team {
  std::uint32_t workers = 1;
  /// Of the root's process: ranks 0 to root_threads - 1.
  std::uint32_t root_threads = 1;
  /// Those whose nodes this worker reaches without a call.
  std::uint32_t first_near = 0;
  std::uint32_t near = 1;
};

/// Near: a leaf stays with its parent's process as long as that has no more to do than others; else
/// it goes to one of these, at random. So a rollout crosses from one process to another about once,
/// and work still spreads by itself. Spread::kLeaves chooses in the same way. Uniform (Seriema
/// 5.3.2): any worker, at random; a rollout may cross at every step. Owner thread only.
class Placement {
 public:
  void begin(const Settings& settings, const Team& team) noexcept {
    team_ = team;
    uniform_ = settings.spread == Spread::kUniform;
    // A worker beside the root's process is chosen 1 / root_share times as often as one in it.
    const double beside = team.workers - team.root_threads;
    const double at_root = team.root_threads * static_cast<double>(settings.root_share);
    at_root_limit_ = static_cast<std::uint64_t>(at_root / (at_root + beside) * 4294967296.0);
  }
  /// The rank of the worker that gets it. `busy`: others have less to do than this worker.
  std::uint16_t choose(bool busy, Random& random) const noexcept {
    const std::uint64_t number = random();
    const std::uint32_t low = static_cast<std::uint32_t>(number);
    const std::uint64_t high = number >> 32;
    const auto among = [high](std::uint32_t count) {
      return static_cast<std::uint32_t>(high * count >> 32);
    };
    if (uniform_) {
      if (low < at_root_limit_) return static_cast<std::uint16_t>(among(team_.root_threads));
      return static_cast<std::uint16_t>(team_.root_threads +
                                        among(team_.workers - team_.root_threads));
    }
    if (!busy || team_.workers == team_.near) {
      return static_cast<std::uint16_t>(team_.first_near + among(team_.near));
    }
    const std::uint32_t other = among(team_.workers - team_.near);
    return static_cast<std::uint16_t>(other < team_.first_near ? other : other + team_.near);
  }

 private:
  Team team_;
  bool uniform_ = false;
  std::uint64_t at_root_limit_ = 0;
};

}  // namespace mcts
