// SPDX-License-Identifier: MIT
// connect-four: the search plays a game against itself, to show that Hex is not the only game.
#include "games/connect_four.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "mcts/mcts.hpp"
#include "mcts/ring_links.hpp"
#include "simulation/settings_only_main.hpp"

using games::ConnectFour;

namespace {

void print(const ConnectFour& game) {
  for (int row = ConnectFour::kRows; row-- > 0;) {
    for (int column = 0; column < ConnectFour::kColumns; ++column) {
      const int stone = game.at(column, row);
      fmt::print(" {}", stone < 0 ? '.' : stone == 0 ? 'x' : 'o');
    }
    fmt::print("\n");
  }
  fmt::print(" 1 2 3 4 5 6 7\n\n");
}

}  // namespace

int cariama_main(int argc, char** argv) try {
  using Searcher = mcts::Searcher<ConnectFour, mcts::MessengerLink>;
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  constexpr std::size_t kMemory = 256 << 20;
  mcts::run<ConnectFour, mcts::MessengerLink>(fabric, kMemory, [](Searcher& searcher) {
    mcts::Limits limits;
    limits.rollouts = 5000;
    ConnectFour game;
    while (game.outcome() == mcts::Outcome::kOngoing) {
      const mcts::Report report = searcher.think(game, mcts::Settings(), limits);
      if (!report.failure.empty()) throw dtutils::Error("search", report.failure, "start again");
      fmt::print("{} plays {} ({:.0f} %)\n", game.player() == 0 ? 'x' : 'o', report.best() + 1,
                 100 * report.value());
      game.apply(report.best());
    }
    print(game);
    const mcts::Outcome outcome = game.outcome();
    fmt::print("{}\n", outcome == mcts::Outcome::kDraw    ? "a draw"
                       : outcome == mcts::Outcome::kFirst ? "x wins"
                                                          : "o wins");
  });
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  fmt::print(stderr, "connect-four: {}\n", error.what());
  return EXIT_FAILURE;
}
