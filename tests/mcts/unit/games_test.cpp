// SPDX-License-Identifier: MIT
// Connect Four by the book, and the framework on games that are not Hex.
#include "games/connect_four.hpp"
#include "mcts/support/job.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "tutorial/sticks.hpp"

using games::ConnectFour;
using mcts::Outcome;
using support::require;
using support::require_exact;
using support::SearchJob;

namespace {

bool line_by_the_book(const ConnectFour& game, int player) {
  for (int column = 0; column < 7; ++column) {
    for (int row = 0; row < 6; ++row) {
      for (const auto& [right, up] : {std::pair{1, 0}, {0, 1}, {1, 1}, {1, -1}}) {
        int length = 0;
        for (int i = 0; i < 4; ++i) {
          const int x = column + i * right, y = row + i * up;
          length += x < 7 && y >= 0 && y < 6 && game.at(x, y) == player;
        }
        if (length == 4) return true;
      }
    }
  }
  return false;
}

/// Proofs need all moves.
mcts::Settings exploring() {
  mcts::Settings settings;
  settings.exploration = 0.7F;
  return settings;
}

ConnectFour after(std::initializer_list<mcts::Move> moves) {
  ConnectFour game;
  for (const mcts::Move move : moves) game.apply(move);
  return game;
}

}  // namespace

TEST_CASE("connect_four_is_won_by_the_book") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  mcts::Random random(seed);
  for (int i = 0; i < 300; ++i) {
    ConnectFour game;
    std::array<mcts::Move, ConnectFour::kMaxMoves> moves;
    int stones = 0;
    while (game.outcome() == Outcome::kOngoing) {
      const std::size_t count = game.moves(moves);
      game.apply(moves[random.below(static_cast<std::uint32_t>(count))]);
      ++stones;
      const Outcome expected = line_by_the_book(game, 0)   ? Outcome::kFirst
                               : line_by_the_book(game, 1) ? Outcome::kSecond
                               : stones == 42              ? Outcome::kDraw
                                                           : Outcome::kOngoing;
      REQUIRE(game.outcome() == expected);
    }
  }
}

TEST_CASE("connect_four_wins_and_threats_are_seen") {
  const SearchJob job{2, 1};
  using Searcher = mcts::Searcher<ConnectFour, mcts::SendLink>;
  CHECK(job.run<ConnectFour>([](Searcher& searcher) {
    mcts::Limits limits;
    limits.rollouts = 3000;
    const auto think = [&](const ConnectFour& game) {
      const mcts::Report report = searcher.think(game, exploring(), limits);
      require_exact(report);
      return report;
    };
    const mcts::Report win = think(after({3, 0, 3, 0, 3, 1}));
    require(win.best() == 3 && win.proven == Outcome::kFirst, "four in column 3");
    require(think(after({3, 0, 3, 1, 3})).best() == 3, "column 3 must be stopped");
    // An open row of three: o moves, and loses whatever it does.
    const mcts::Report lost = think(after({2, 2, 3, 3, 4}));
    require(lost.proven == Outcome::kFirst && lost.value() < 0.5, "o has lost");
  }) == "");
}

TEST_CASE("sticks_of_the_tutorial_are_solved") {
  const SearchJob job{1, 2};
  using Searcher = mcts::Searcher<tutorial::Sticks, mcts::SendLink>;
  CHECK(job.run<tutorial::Sticks>([](Searcher& searcher) {
    mcts::Limits limits;
    limits.rollouts = 20000;
    for (const std::uint32_t sticks : {5u, 6u, 7u, 10u}) {
      const mcts::Report report = searcher.think(tutorial::Sticks(sticks), exploring(), limits);
      require_exact(report);
      require(report.best() == sticks % 4, "leave a multiple of four");
      require(report.proven == Outcome::kFirst, "that wins");
    }
    const mcts::Report lost = searcher.think(tutorial::Sticks(8), exploring(), limits);
    require(lost.proven == Outcome::kSecond, "eight are lost");
  }) == "");
}
