// SPDX-License-Identifier: MIT
// Cases that contradict themselves are refused before anything runs.
#include "bench/harness/case.hpp"
#include "bench/harness/suite.hpp"
#include "bench/unit/variant.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

namespace {

using support::contains;
using support::variant;

bench::Case good_case() {
  return {.name = "job",
          .size = 8,
          .variants = {variant("ours"), variant("raw")},
          .ratios = {{.over = "ours", .under = "raw", .bar = ">= 0.97"}}};
}

std::string complaint(const bench::Case& item) {
  try {
    bench::check_case(item);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "(none)";
}

}  // namespace

TEST_CASE("case_that_fits_together_is_accepted") { CHECK(complaint(good_case()) == "(none)"); }

TEST_CASE("case_without_a_variant_is_refused") {
  CHECK_THAT(complaint({.name = "job"}), contains("job/0") && contains("no variant"));
}

TEST_CASE("case_with_two_variants_of_one_name_is_refused") {
  bench::Case item = good_case();
  item.variants[1].name = "ours";
  CHECK_THAT(complaint(item), contains("two variants are named ours"));
}

TEST_CASE("case_with_a_variant_that_measures_nothing_is_refused") {
  bench::Case item = good_case();
  item.variants[1].measure = {};
  CHECK_THAT(complaint(item), contains("raw measures nothing"));
}

TEST_CASE("case_with_a_ratio_of_unknown_variants_is_refused") {
  bench::Case item = good_case();
  item.ratios[0].under = "cooked";
  CHECK_THAT(complaint(item), contains("cooked"));
}

TEST_CASE("case_with_an_unreadable_bar_is_refused") {
  bench::Case item = good_case();
  item.ratios[0].bar = "fast";
  CHECK_THAT(complaint(item), contains("job/8") && contains("fast"));
}

TEST_CASE("case_compares_only_nanoseconds_with_the_round_trip") {
  bench::Case item = good_case();
  item.ratios[0].under = bench::kHalfRoundTrip;
  CHECK(complaint(item) == "(none)");
  item.unit = bench::Unit::kPerSecond;
  CHECK_THAT(complaint(item), contains("only ns"));
}

TEST_CASE("case_bounds_of_iterations_must_leave_room") {
  bench::Case item = good_case();
  item.min_iterations = 2;
  item.max_iterations = 1;
  CHECK_THAT(complaint(item), contains("min_iterations"));
}

TEST_CASE("suite_refuses_a_second_case_of_the_same_name_and_size") {
  bench::Suite suite(0, nullptr, "suite");
  suite.add(good_case());
  CHECK_THROWS_AS(suite.add(good_case()), std::invalid_argument);
  bench::Case other_size = good_case();
  other_size.size = 64;
  CHECK_NOTHROW(suite.add(other_size));
}

TEST_CASE("suite_refuses_a_number_of_processes_that_it_cannot_have") {
  bench::Suite suite(0, nullptr, "suite");
  CHECK_THROWS_AS(suite.processes(1), std::invalid_argument);
  CHECK_THROWS_AS(suite.processes(bench::kMaxProcesses + 1), std::invalid_argument);
  CHECK_NOTHROW(suite.processes(3));
}
