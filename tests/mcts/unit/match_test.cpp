// SPDX-License-Identifier: MIT
// Matches: who won what, intervals, words for settings.
#include "hex/match.hpp"

#include <cmath>

#include "hex/interval.hpp"
#include "mcts/support/fake_engine.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

using support::contains;

TEST_CASE("intervals_are_wilsons") {
  // Checked against published tables.
  const hex::Interval half = hex::wilson(50, 100);
  CHECK(half.low == Approx(0.4038).margin(0.0005));
  CHECK(half.high == Approx(0.5962).margin(0.0005));
  const hex::Interval all = hex::wilson(100, 100);
  CHECK(all.low == Approx(0.9630).margin(0.0005));
  CHECK(all.high == Approx(1).margin(0.0005));
  for (std::uint64_t games = 1; games <= 100; ++games) {
    CHECK(hex::wilson(0, games).low == 0);
    CHECK_FALSE(std::signbit(hex::wilson(0, games).low));
    CHECK(hex::wilson(games, games).high == 1);
  }
}

TEST_CASE("contenders_are_described_by_words") {
  hex::Contender contender;
  hex::configure(contender, "processes=2,seconds=0.25,exploration=0.5,rollouts=1000,flat");
  CHECK(contender.settings.processes == 2);
  CHECK(contender.limits.seconds == 0.25);
  CHECK(contender.limits.rollouts == 1000);
  CHECK(contender.settings.exploration == 0.5F);
  CHECK(contender.flat);
  CHECK_THROWS_WITH(hex::configure(contender, "speed=2"), contains("choose from:"));
  CHECK_THROWS_WITH(hex::configure(contender, "playouts=x"), contains("no number"));
}

TEST_CASE("match_games_come_in_pairs_with_colours_changed") {
  // Both play the first empty cell: each opening has one winning colour, so all is even.
  support::FakeEngine engine;
  hex::MatchOptions options;
  options.size = 4;
  options.games = 40;
  options.contenders[0].name = "A";
  options.contenders[1].name = "B";
  int told = 0;
  const hex::MatchResult result =
      hex::play_match(engine, options, [&](const hex::MatchResult&) { ++told; });
  CHECK(result.games == 40);
  CHECK(told == 40);
  CHECK(result.games_as[0] == 20);
  CHECK(result.games_as[1] == 20);
  CHECK(result.won() == 20);
  CHECK_THAT(hex::describe(result, options), contains("95 % interval"));
}

TEST_CASE("match_goes_on_when_a_search_had_no_time_for_a_rollout") {
  class Idle final : public hex::Engine {
   public:
    mcts::Report think(const hex::Position&, const mcts::Settings&, const mcts::Limits&,
                       const Progress&) override {
      return {};
    }
  } engine;
  hex::MatchOptions options;
  options.size = 4;
  options.games = 4;
  CHECK(hex::play_match(engine, options, {}).games == 4);
}
