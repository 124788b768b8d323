// SPDX-License-Identifier: MIT
// The tutorial: searches the game of sticks with all processes and threads of the job.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "mcts/mcts.hpp"
#include "mcts/ring_links.hpp"
#include "simulation/settings_only_main.hpp"
#include "tutorial/sticks.hpp"

using tutorial::Sticks;

int cariama_main(int argc, char** argv) try {
  using Searcher = mcts::Searcher<Sticks, mcts::MessengerLink>;
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  constexpr std::size_t kMemory = 64 << 20;
  mcts::run<Sticks, mcts::MessengerLink>(fabric, kMemory, [](Searcher& searcher) {
    mcts::Limits limits;
    limits.rollouts = 20000;
    const mcts::Report report = searcher.think(Sticks(21), mcts::Settings(), limits);
    fmt::print("take {}: it wins {:.0f} % of its playouts\n", report.best(), 100 * report.value());
    if (report.proven != mcts::Outcome::kOngoing) fmt::print("and that is proven\n");
  });
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  fmt::print(stderr, "sticks: {}\n", error.what());
  return EXIT_FAILURE;
}
