// SPDX-License-Identifier: MIT
// What a search has found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "mcts/children.hpp"
#include "mcts/game.hpp"
#include "mcts/settings.hpp"

namespace mcts {

/// One move at the root, seen by who is to move there.
struct MoveReport {
  Move move = kNoMove;
  std::uint32_t visits = 0;
  /// Share of points: 1 is a win in every playout. 0 without visits.
  double value = 0;
  Proof proof = Proof::kNone;
};

struct Report {
  /// Best first: proven wins, then by visits, proven losses last.
  std::vector<MoveReport> moves;
  /// The best line, as far as it has been visited.
  std::vector<Move> line;
  /// Over all workers; with a `failure`, of the root's worker alone.
  Counters total;
  std::uint64_t phases = 0;
  double seconds = 0;
  /// Who wins for sure, or kOngoing.
  Outcome proven = Outcome::kOngoing;
  /// Empty, or why the search ended early: a process is gone. The moves are the best known until
  /// then; visits of lost rollouts are in them, their points are not.
  std::string failure;

  /// kNoMove when nothing was visited.
  Move best() const noexcept { return moves.empty() ? kNoMove : moves.front().move; }
  double value() const noexcept { return moves.empty() ? 0 : moves.front().value; }
};

/// The order of Report::moves. Equals in a fixed order too, so that a search can be repeated.
inline bool better(const MoveReport& a, const MoveReport& b) noexcept {
  const auto rank = [](Proof proof) {
    return proof == Proof::kWin ? 2 : proof == Proof::kNone ? 1 : 0;
  };
  if (a.proof != b.proof) return rank(a.proof) > rank(b.proof);
  if (a.visits != b.visits) return a.visits > b.visits;
  return a.value != b.value ? a.value > b.value : a.move < b.move;
}

inline MoveReport report_move(const Children& children, std::uint32_t i, double points_a_visit) {
  const Tally tally = children.tally(i);
  if (tally.visits == 0) return {};
  return {children.move(i), tally.visits, tally.points / (tally.visits * points_a_visit),
          tally.proof};
}

inline std::vector<MoveReport> report_moves(const Children& children, double points_a_visit) {
  std::vector<MoveReport> moves;
  for (std::uint32_t i = 0; i < children.count(); ++i) {
    const MoveReport move = report_move(children, i, points_a_visit);
    if (move.visits != 0) moves.push_back(move);
  }
  std::sort(moves.begin(), moves.end(), better);
  return moves;
}

}  // namespace mcts
