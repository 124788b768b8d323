// SPDX-License-Identifier: MIT
// How the number of iterations follows from the time that a batch took.
#include <cstdint>
#include <limits>

#include "bench/harness/runner.hpp"
#include "support/catch.hpp"

namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

}  // namespace

TEST_CASE("iterations_scale_with_the_time_that_is_wanted") {
  CHECK(bench::scale_iterations(1000, 10, 50, kNoLimit) == 5000);
  CHECK(bench::scale_iterations(1000, 100, 50, kNoLimit) == 500);
}

TEST_CASE("iterations_grow_at_most_a_hundredfold_at_once") {
  CHECK(bench::scale_iterations(7, 1e-6, 50, kNoLimit) == 700);
  CHECK(bench::scale_iterations(7, 0, 50, kNoLimit) == 700);
}

TEST_CASE("iterations_keep_their_limit_and_never_reach_zero") {
  CHECK(bench::scale_iterations(1000, 10, 50, 1200) == 1200);
  CHECK(bench::scale_iterations(1, 10000, 50, kNoLimit) == 1);
  CHECK(bench::scale_iterations(kNoLimit, 1, 50, kNoLimit) == kNoLimit);
}
