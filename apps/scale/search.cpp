// SPDX-License-Identifier: MIT
// A search of one tree, whose nodes are anywhere.
#include <chrono>

#include "cases.hpp"
#include "dtutils/error.hpp"
#include "mcts/mcts.hpp"
#include "mcts/ring_links.hpp"

namespace scale {
namespace {

using namespace std::chrono_literals;

/// Those of a leaf take 10 us.
constexpr std::uint32_t kPlayouts = 16;
constexpr auto kPlayout = 625ns;
/// Rollouts under way for each node, and rollouts for each node.
constexpr std::uint32_t kWindow = 8;
constexpr std::uint64_t kRollouts = 256;

/// Each position has so many moves, and none of them matters: who wins is drawn.
struct Draw {
  static constexpr std::size_t kMaxMoves = 16;
  std::uint32_t depth = 0;

  int player() const noexcept { return static_cast<int>(depth % 2); }
  std::size_t moves(std::span<mcts::Move> into) const noexcept {
    for (mcts::Move move = 0; move < kMaxMoves; ++move) into[move] = move;
    return kMaxMoves;
  }
  void apply(mcts::Move) noexcept { ++depth; }
  mcts::Outcome outcome() const noexcept { return mcts::Outcome::kOngoing; }
  mcts::Outcome playout(mcts::Random& random) const noexcept {
    simulation::compute(kPlayout);
    return mcts::win_of(static_cast<int>(random.below(2)));
  }
};

}  // namespace

std::vector<Point> measure_search(const Cluster& cluster) {
  constexpr std::size_t kMemory = std::size_t{64} << 20;
  using Searcher = mcts::Searcher<Draw, mcts::MessengerLink>;
  std::vector<double> rates;
  double calls = 0;
  run(cluster, [&](dsfabric::Fabric& fabric) {
    mcts::run<Draw, mcts::MessengerLink>(fabric, kMemory, [&](Searcher& searcher) {
      mcts::Settings settings;
      settings.playouts = kPlayouts;
      settings.window = kWindow;
      settings.spread = mcts::Spread::kUniform;
      settings.exploration = 1;
      mcts::Limits limits;
      limits.rollouts = kRollouts * cluster.nodes;
      // The first search connects all with all.
      for (std::uint32_t i = 0; i <= cluster.repetitions; ++i) {
        settings.seed = i + 1;
        const mcts::Report report = searcher.think(Draw(), settings, limits);
        if (!report.failure.empty()) throw dtutils::Error("search", report.failure, "start again");
        const auto rollouts = static_cast<double>(limits.rollouts);
        if (i != 0) rates.push_back(rollouts / report.seconds);
        calls = static_cast<double>(report.total.calls) / rollouts;
      }
    });
  });
  const ClosedForm form(cluster.options.cluster.model, cluster.nodes);
  return {{"tree_search", rates, form.rollout(kWindow, calls, kPlayouts * kPlayout), true}};
}

}  // namespace scale
