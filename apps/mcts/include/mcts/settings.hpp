// SPDX-License-Identifier: MIT
// What can be chosen for a search: how it explores, how it is spread, when it ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "mcts/game.hpp"

namespace mcts {

/// What workers of other processes get to do.
enum class Spread : std::uint8_t {
  /// kLeaves where the workers of process 0 can keep the others busy with them, else kNear; see
  /// spread_of().
  kAuto,
  /// The simulations of new leaves. The tree is in process 0, whose memory limits it; a rollout
  /// makes at most one call each way.
  kLeaves,
  /// New nodes, near their parents as long as work is spread evenly. See Placement.
  kNear,
  /// New nodes, at random workers (Seriema 5.3.2).
  kUniform,
};

/// Plain values that travel to all workers with each search.
struct Settings {
  /// Random playouts at each new leaf (16 in Seriema 5.3.2).
  std::uint32_t playouts = 16;
  /// The constant of UCB: exploration * sqrt(ln(visits of the node) / visits of the child). Below
  /// 0: what has won most games, see exploration_of().
  float exploration = -1;
  /// How many visits the playouts count at most in which a child's move was made at another time
  /// (RAVE), when the game tells (HasOwners); 0: they do not count. See Policy::blend.
  float rave = 100;
  /// With RAVE, how much of a rollout under way counts as lost among what is learned of its move: 1
  /// keeps others from the same way best, less disturbs them less.
  float virtual_loss = 0.1F;
  /// Rollouts under way for each worker of the job. More keep other processes busy, and make the
  /// search choose with older news. 0: few at first, and more as the tree grows, see Window.
  std::uint32_t window = 0;
  /// Processes that take part, from process 0 on; 0: all of them.
  std::uint32_t processes = 0;
  Spread spread = Spread::kAuto;
  /// With Spread::kUniform, nodes that a worker of the root's process gets for each that another
  /// worker gets; below 1 it makes up for the work at the root.
  float root_share = 0.8F;
  /// Makes every step from node to node a call, even between threads of one process.
  bool always_call = false;
  /// Ends a search as soon as the value of its root is proven.
  bool stop_when_proven = true;
  /// Remembers all nodes, for Worker::audit().
  bool audit = false;
  std::uint64_t seed = 1;
};

/// The constant of UCB of a search; `learns`: with RAVE, which explores by itself.
constexpr float exploration_of(const Settings& settings, bool learns) noexcept {
  if (settings.exploration >= 0) return settings.exploration;
  return learns ? 0 : 0.07F;
}

/// The spread of a search of `workers`, of which `root_threads` are in process 0. A simulation of
/// few playouts takes less time than the call that brings it elsewhere; and a worker that looks
/// after the whole tree feeds about one other.
constexpr Spread spread_of(const Settings& settings, std::uint32_t workers,
                           std::uint32_t root_threads) noexcept {
  if (settings.spread != Spread::kAuto) return settings.spread;
  return settings.playouts >= 8 && workers <= 2 * root_threads ? Spread::kLeaves : Spread::kNear;
}

/// When a search ends: whichever comes first.
struct Limits {
  std::uint64_t rollouts = std::numeric_limits<std::uint64_t>::max();
  double seconds = std::numeric_limits<double>::infinity();
  /// Rollouts of one phase: after each, all workers meet and the counts are complete.
  std::uint64_t phase = std::uint64_t{1} << 20;
};

/// What one worker has done since the search began; sums over all workers add up exactly after each
/// phase: started == finished == simulations.
struct Counters {
  std::uint64_t started = 0;
  /// Came back to the root.
  std::uint64_t finished = 0;
  /// Leaves that were evaluated, each with Settings::playouts playouts unless the game was over.
  std::uint64_t simulations = 0;
  /// Points that they brought to player 0: 2 for a win, 1 for a draw.
  std::uint64_t points = 0;
  std::uint64_t nodes = 0;
  /// Rollouts that ended without a new node because memory was short.
  std::uint64_t refused = 0;
  /// Selections that had to wait for the creation of their node.
  std::uint64_t deferred = 0;
  /// Calls to other processes (with Settings::always_call, all calls), and their bytes.
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;

  friend Counters operator+(Counters a, const Counters& b) noexcept {
    a.started += b.started;
    a.finished += b.finished;
    a.simulations += b.simulations;
    a.points += b.points;
    a.nodes += b.nodes;
    a.refused += b.refused;
    a.deferred += b.deferred;
    a.calls += b.calls;
    a.bytes += b.bytes;
    return a;
  }
};

}  // namespace mcts
