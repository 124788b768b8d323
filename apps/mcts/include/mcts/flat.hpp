// SPDX-License-Identifier: MIT
// Play without a tree, as an opponent to measure the tree by.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "dtutils/clock.hpp"
#include "mcts/game.hpp"
#include "mcts/report.hpp"

namespace mcts {

/// Equally many random playouts after each move, by the calling thread alone, until the limits:
/// one rollout is one playout for every move. Any thread.
template <Game G>
Report flat_search(const G& position, std::uint64_t seed, const Limits& limits) {
  using Clock = dtutils::Clock;
  const auto begin = Clock::now();
  std::array<Move, G::kMaxMoves> moves;
  const std::size_t count = position.moves(moves);
  std::vector<std::uint64_t> points(count);
  Random random(seed);
  Report report;
  while (report.total.simulations < limits.rollouts && report.seconds < limits.seconds) {
    for (std::size_t i = 0; i < count; ++i) {
      G next = position;
      next.apply(moves[i]);
      Outcome outcome = next.outcome();
      if (outcome == Outcome::kOngoing) outcome = playout(next, random);
      points[i] += outcome == win_of(position.player()) ? 2 : outcome == Outcome::kDraw ? 1 : 0;
      ++report.total.simulations;
    }
    report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  const auto each = static_cast<std::uint32_t>(report.total.simulations / count);
  for (std::size_t i = 0; i < count; ++i) {
    report.moves.push_back({moves[i], each, static_cast<double>(points[i]) / (2.0 * each)});
  }
  std::sort(report.moves.begin(), report.moves.end(), better);
  return report;
}

}  // namespace mcts
