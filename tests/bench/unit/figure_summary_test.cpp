// SPDX-License-Identifier: MIT
// Median, min and max, and which figures can be true.
#include <limits>

#include "bench/harness/stats.hpp"
#include "support/catch.hpp"

TEST_CASE("summary_of_an_odd_number_of_figures_has_the_middle_one_as_median") {
  const bench::Summary summary = bench::summarize({5, 1, 4, 2, 30});
  CHECK(summary.median == 4);
  CHECK(summary.min == 1);
  CHECK(summary.max == 30);
  CHECK(summary.runs == 5);
}

TEST_CASE("summary_of_an_even_number_of_figures_has_the_mean_of_the_middle_two_as_median") {
  CHECK(bench::summarize({10, 1, 2, 4}).median == 3);
}

TEST_CASE("summary_of_one_figure_is_that_figure") {
  const bench::Summary summary = bench::summarize({7});
  CHECK(summary.median == 7);
  CHECK(summary.min == 7);
  CHECK(summary.max == 7);
}

TEST_CASE("summary_of_no_figures_is_refused") {
  CHECK_THROWS_AS(bench::summarize({}), std::invalid_argument);
}

TEST_CASE("figures_are_sound_only_when_finite_and_above_zero") {
  CHECK(bench::is_sound(1e-9));
  CHECK_FALSE(bench::is_sound(0));
  CHECK_FALSE(bench::is_sound(-1));
  CHECK_FALSE(bench::is_sound(std::numeric_limits<double>::infinity()));
  CHECK_FALSE(bench::is_sound(std::numeric_limits<double>::quiet_NaN()));
}
