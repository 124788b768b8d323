// SPDX-License-Identifier: MIT
// The search finds what is proven: winning first moves on small boards, forced wins and losses.
#include <set>

#include "hex/board_text.hpp"
#include "mcts/support/job.hpp"
#include "mcts/support/solver.hpp"
#include "support/catch.hpp"

using games::Hex11;
using mcts::Move;
using mcts::Outcome;
using support::HexSearcher;
using support::HexSolver;
using support::require;
using support::require_exact;
using support::SearchJob;

namespace {

mcts::Report think(HexSearcher& searcher, const Hex11& position, std::uint64_t rollouts) {
  mcts::Settings settings;
  settings.playouts = 4;
  settings.exploration = 0.7F;  // proofs need all moves
  mcts::Limits limits;
  limits.rollouts = rollouts;
  const mcts::Report report = searcher.think(position, settings, limits);
  require_exact(report);
  return report;
}

/// The first moves at 5 x 5 that search finds, those of the short diagonal, all win. `hex --size 5
/// --moves b4` and c3 prove it in half a minute; d2 and a5 are like b4 and e1; and e1, which is
/// chosen seldom, on a busy machine, was proven reply by reply (--moves e1,a1 and so on). The
/// middle: Hayward and Toft, Hex: The Full Story.
const std::set<Move> kFive = {4, 8, 12, 16, 20};

}  // namespace

TEST_CASE("winning_first_moves_are_found_on_small_boards") {
  const auto three = HexSolver<3>().winning_moves(0, 0, 0);
  const auto four = HexSolver<4>().winning_moves(0, 0, 0);
  // The first player wins, but not with every move.
  CHECK((!three.empty() && three.size() < 9 && !four.empty() && four.size() < 16));
  for (const SearchJob& job : {SearchJob{1, 1}, SearchJob{2, 1}}) {
    CHECK(job.run<Hex11>([&](HexSearcher& searcher) {
      require(three.count(think(searcher, Hex11(3), 20000).best()) == 1, "at 3 x 3");
      require(four.count(think(searcher, Hex11(4), 40000).best()) == 1, "at 4 x 4");
      const Move best = think(searcher, Hex11(5), 40000).best();
      require(kFive.count(best) == 1, "at 5 x 5: not " + std::to_string(best));
    }) == "");
  }
}

TEST_CASE("random_positions_at_four_are_valued_as_the_solver_does") {
  HexSolver<4> solver;
  mcts::Random random(11);
  std::vector<Hex11> positions;
  std::vector<std::set<Move>> winning;
  while (positions.size() < 20) {
    Hex11 position(4);
    std::array<Move, Hex11::kMaxMoves> moves;
    for (int i = 0; i < 5; ++i) {
      const std::size_t count = position.moves(moves);
      position.apply(moves[random.below(static_cast<std::uint32_t>(count))]);
    }
    if (position.outcome() != Outcome::kOngoing) continue;
    HexSolver<4>::Cells stones[2] = {0, 0};
    for (std::size_t cell = 0; cell < 16; ++cell) {
      if (position.at(cell) >= 0) stones[position.at(cell)] |= 1U << cell;
    }
    const int mover = position.player();
    positions.push_back(position);
    winning.push_back(solver.winning_moves(stones[mover], stones[1 - mover], mover));
  }
  CHECK(SearchJob{1, 2}.run<Hex11>([&](HexSearcher& searcher) {
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const mcts::Report report = think(searcher, positions[i], 100000);
      const int mover = positions[i].player();
      const Outcome expected = mcts::win_of(winning[i].empty() ? 1 - mover : mover);
      require(report.proven == expected, "position " + std::to_string(i) + " is proven");
      require(winning[i].empty() || winning[i].count(report.best()) == 1, "by a winning move");
    }
  }) == "");
}

TEST_CASE("forced_wins_and_losses_are_seen_on_a_large_board") {
  CHECK(SearchJob{2, 1}.run<Hex11>([](HexSearcher& searcher) {
    // x has column d but for d6: it wins there, and o must play there.
    Hex11 position(11);
    for (std::size_t row = 0; row < 11; ++row) {
      if (row != 5) position.put(row * 11 + 3, 0);
    }
    const Move gap = 5 * 11 + 3;
    position.set_player(0);
    const mcts::Report win = think(searcher, position, 2000);
    require(win.best() == gap && win.proven == Outcome::kFirst, "x wins at once");
    // Without d7 too, x has two ways through: whatever o does, x wins in two moves.
    Hex11 lost(11);
    for (std::size_t row = 0; row < 11; ++row) {
      if (row != 5) lost.put(row * 11 + (row < 5 ? 4 : 3), 0);
    }
    lost.set_player(1);
    const mcts::Report loss = think(searcher, lost, 60000);
    require(loss.proven == Outcome::kFirst, "o has lost: two cells join the ends");
  }) == "");
}
