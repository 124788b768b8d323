// SPDX-License-Identifier: MIT
// Which rounds count as near, when there are enough of them, and which ones a report rests on.
#include <cstddef>

#include "bench/harness/constants.hpp"
#include "bench/harness/round.hpp"
#include "support/catch.hpp"

namespace {

constexpr bench::Limits kLimits{.round_trip_ns = 200, .core_speed = 0.9};

std::vector<bench::Canary> round_trips(const std::vector<double>& all) {
  std::vector<bench::Canary> canaries;
  for (const double round_trip : all) canaries.push_back({.round_trip_ns = round_trip});
  return canaries;
}

// Two variants around which every round trip took `round_trip`; `figure` tells rounds apart.
bench::Round round_of(double figure, double round_trip) {
  return {{figure, 2 * figure}, round_trips({round_trip, round_trip, round_trip})};
}

std::vector<bench::Round> rounds_of(std::size_t near, std::size_t far) {
  std::vector<bench::Round> rounds(near, round_of(1, 100));
  rounds.insert(rounds.end(), far, round_of(5, 500));
  return rounds;
}

}  // namespace

TEST_CASE("round_is_near_only_when_every_round_trip_is_below_the_threshold") {
  CHECK(bench::is_near(round_of(1, 199.9), kLimits));
  CHECK_FALSE(bench::is_near(round_of(1, 200), kLimits));
  CHECK_FALSE(bench::is_near({{1, 1}, round_trips({500, 100, 100})}, kLimits));
  CHECK_FALSE(bench::is_near({{1, 1}, round_trips({100, 500, 100})}, kLimits));
  CHECK_FALSE(bench::is_near({{1, 1}, round_trips({100, 100, 500})}, kLimits));
}

TEST_CASE("far_rounds_count_where_they_are_asked_for") {
  const bench::Limits far{.round_trip_ns = 200, .far = true};
  CHECK(bench::is_near(round_of(1, 200), far));
  CHECK_FALSE(bench::is_near(round_of(1, 199.9), far));
  CHECK_FALSE(bench::is_near({{1, 1}, round_trips({500, 100, 500})}, far));
  const auto selection = bench::select_rounds(rounds_of(2, 2), 2, far);
  CHECK(selection.near);
  CHECK(bench::figures_of(selection.rounds, 0) == std::vector<double>{5, 5});
}

TEST_CASE("round_in_which_a_process_waited_for_its_core_is_not_near") {
  bench::Round round = round_of(1, 100);
  round.waited = bench::kMaxCoreWait;
  CHECK(bench::is_near(round, kLimits));
  round.waited = 2 * bench::kMaxCoreWait;
  CHECK_FALSE(bench::is_near(round, kLimits));
}

TEST_CASE("round_beside_which_a_core_was_slow_is_not_near") {
  for (const std::size_t slow : {0, 1, 2}) {
    bench::Round round = round_of(1, 100);
    round.canaries[slow].core_speed = kLimits.core_speed;
    CHECK(bench::is_near(round, kLimits));
    round.canaries[slow].core_speed = 0.89;
    CHECK_FALSE(bench::is_near(round, kLimits));
    CHECK(bench::is_near(round, {.round_trip_ns = 200, .core_speed = 0}));
    CHECK(bench::core_speed_of({round_of(1, 100), round}) == 0.89);
  }
}

TEST_CASE("far_rounds_are_repeated_up_to_the_limit") {
  CHECK_FALSE(bench::enough_rounds(rounds_of(4, 9), 5, kLimits, false));
  CHECK(bench::enough_rounds(rounds_of(5, 9), 5, kLimits, false));
  CHECK_FALSE(
      bench::enough_rounds(rounds_of(0, 5 * bench::kMaxRoundsFactor - 1), 5, kLimits, false));
  CHECK(bench::enough_rounds(rounds_of(0, 5 * bench::kMaxRoundsFactor), 5, kLimits, false));
}

TEST_CASE("smoke_runs_never_repeat_a_far_round") {
  CHECK_FALSE(bench::enough_rounds(rounds_of(0, 1), 2, kLimits, true));
  CHECK(bench::enough_rounds(rounds_of(0, 2), 2, kLimits, true));
}

TEST_CASE("selection_leaves_out_far_rounds_when_there_are_enough_near_ones") {
  const std::vector<bench::Round> rounds = {round_of(1, 100), round_of(2, 500), round_of(3, 100),
                                            round_of(4, 100)};
  const bench::Selection selection = bench::select_rounds(rounds, 2, kLimits);
  CHECK(selection.near);
  CHECK(bench::figures_of(selection.rounds, 0) == std::vector<double>{1, 3});
}

TEST_CASE("selection_with_a_far_round_in_it_is_not_near") {
  const std::vector<bench::Round> rounds = {round_of(1, 500), round_of(2, 500), round_of(3, 100)};
  const bench::Selection selection = bench::select_rounds(rounds, 2, kLimits);
  CHECK_FALSE(selection.near);
  CHECK(bench::figures_of(selection.rounds, 0) == std::vector<double>{3, 2});
}

TEST_CASE("quotients_pair_the_figures_of_one_round") {
  const std::vector<bench::Round> rounds = {{{10, 5}, round_trips({1, 1, 1})},
                                            {{30, 10}, round_trips({1, 1, 1})}};
  CHECK(bench::quotients_of(rounds, 0, 1) == std::vector<double>{2, 3});
}

TEST_CASE("round_trip_quotients_use_the_round_trips_just_before_and_after_the_batch") {
  const std::vector<bench::Round> rounds = {{{100, 60}, round_trips({1000, 100, 140})}};
  CHECK(bench::round_trip_quotients_of(rounds, 1) == std::vector<double>{1});
}
