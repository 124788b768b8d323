// SPDX-License-Identifier: MIT
// The share of its best speed at which a core computes.
#include "bench/harness/core_speed.hpp"

#include "support/catch.hpp"

TEST_CASE("core_speed_is_a_share_of_the_best_that_was_seen") {
  bench::CoreSpeed speed;
  for (int i = 0; i < 20; ++i) {
    const double share = speed.measure();
    CHECK(share > 0);
    CHECK(share <= 1);
  }
}
