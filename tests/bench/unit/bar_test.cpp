// SPDX-License-Identifier: MIT
// Bars: their text form and what keeps them.
#include "bench/harness/bar.hpp"

#include "support/catch.hpp"

TEST_CASE("bar_at_least_is_met_from_its_limit_upwards") {
  const bench::Bar bar(">= 0.97");
  CHECK(bar.met_by(0.97));
  CHECK(bar.met_by(2));
  CHECK_FALSE(bar.met_by(0.9699));
}

TEST_CASE("bar_at_most_is_met_up_to_its_limit") {
  const bench::Bar bar("<=1.3");
  CHECK(bar.met_by(1.3));
  CHECK(bar.met_by(0.1));
  CHECK_FALSE(bar.met_by(1.31));
}

TEST_CASE("bar_that_cannot_be_read_is_refused") {
  for (const char* text : {"", "0.97", "> 0.97", ">=", ">= much", ">= 0.97 or so", "== 1"}) {
    INFO(text);
    CHECK_THROWS_AS(bench::Bar(text), std::invalid_argument);
  }
}
