// SPDX-License-Identifier: MIT
// How many rollouts may be under way: few at first, more with the tree, never too many for a ring.
#include "mcts/window.hpp"

#include <initializer_list>

#include "mcts/support/job.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using games::Hex11;
using games::Hex19;
using mcts::Settings;
using mcts::Window;
using support::HexSearcher;
using support::require;
using support::SearchJob;
using support::think_exactly;

namespace {

Settings with(std::uint32_t playouts, std::uint32_t window = 0) {
  Settings settings;
  settings.playouts = playouts;
  settings.window = window;
  return settings;
}

/// Searches with each of these, and counts every visit.
template <class Searcher, class G>
void think_with(std::initializer_list<mcts::Spread> spreads, Searcher& searcher, const G& position,
                Settings settings, const mcts::Limits& limits) {
  for (const mcts::Spread spread : spreads) {
    settings.spread = spread;
    think_exactly(searcher, position, settings, limits);
  }
}

constexpr std::uint64_t kMany = std::uint64_t{1} << 40;

}  // namespace

TEST_CASE("the_window_grows_with_the_tree_between_its_bounds") {
  const Window window = Window::of(with(16), 2, 64);
  CHECK(window.at(0) == 8);
  CHECK(window.at(kMany) == window.max());
  CHECK(window.max() > 2 * window.at(0));
  std::uint32_t before = 0;
  for (std::uint64_t visits = 0; visits < 100'000; visits += 100) {
    const std::uint32_t now = window.at(visits);
    CHECK(now >= before);
    // Above the first few, a small share of the tree only.
    CHECK((now == window.at(0) || now <= visits / 100));
    before = now;
  }
  CHECK(before == window.max());
}

TEST_CASE("short_simulations_get_a_larger_window") {
  CHECK(Window::of(with(1), 2, 64).at(0) == 128);
  CHECK(Window::of(with(1024), 2, 64).at(0) == 8);
}

TEST_CASE("a_chosen_window_does_not_grow") {
  const Window window = Window::of(with(16, 5), 3, 64);
  CHECK(window.at(0) == 15);
  CHECK(window.at(kMany) == 15);
}

TEST_CASE("no_window_is_larger_than_a_ring_holds") {
  for (const std::uint32_t chosen : {0u, 4096u}) {
    const Window window = Window::of(with(1, chosen), 100, 1000);
    CHECK(window.at(0) * 1000 <= 256 << 10);
    CHECK(window.max() * 1000 <= 256 << 10);
    CHECK(Window::of(with(1, chosen), 2, 1 << 20).at(0) == 1);
  }
}

TEST_CASE("a_search_survives_the_largest_window_that_can_be_chosen") {
  // The messages of a large board with RAVE are long; more of them than a ring holds would fail.
  using Searcher = mcts::Searcher<Hex19, mcts::MessengerLink>;
  const SearchJob job{2, 1};
  CHECK(job.run<Hex19, mcts::MessengerLink>([&](Searcher& searcher) {
    mcts::Limits limits;
    limits.rollouts = 4000;
    think_with({mcts::Spread::kLeaves, mcts::Spread::kUniform}, searcher, Hex19(19), with(1, 4096),
               limits);
  }) == "");
}

TEST_CASE("counts_are_exact_while_the_window_grows") {
  for (const std::uint64_t adversary : {std::uint64_t{0}, support::test_seed() | 1}) {
    INFO("adversary " << adversary);
    const SearchJob job{2, 1, adversary};
    CHECK(job.run<Hex11>([&](HexSearcher& searcher) {
      Settings settings = with(16);
      settings.stop_when_proven = false;
      mcts::Limits limits;
      // Beyond 8 * 128 rollouts the window is larger than at first.
      limits.rollouts = 1500;
      limits.phase = 600;
      think_with({mcts::Spread::kLeaves, mcts::Spread::kNear}, searcher, Hex11(4), settings,
                 limits);
    }) == "");
  }
}
