// SPDX-License-Identifier: MIT
// Names and verdicts of rows, the table, and the shape of the JSON file.
#include "bench/harness/report.hpp"

#include <nlohmann/json.hpp>

#include "bench/unit/variant.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

namespace {

using support::contains;
using support::variant;

// Rates of two variants, 2:1 in every round.
bench::Selection two_to_one(bool near) {
  const auto round = [](double figure, double round_trip, double core_speed) {
    return bench::Round{{figure, figure / 2}, {3, {round_trip, core_speed}}};
  };
  return {{round(20, 100, 1), round(40, 110, 0.97), round(60, 120, 1)}, near};
}

bench::Case two_variants(const char* bar) {
  return {.name = "ours_vs_raw",
          .size = 64,
          .unit = bench::Unit::kPerSecond,
          .variants = {variant("ours"), variant("raw")},
          .ratios = {{.over = "ours", .under = "raw", .bar = bar}}};
}

std::vector<std::string> names(const std::vector<bench::Row>& rows) {
  std::vector<std::string> all;
  for (const bench::Row& row : rows) all.push_back(row.name);
  return all;
}

bench::Verdict ratio_verdict(const char* bar, bool near) {
  return bench::make_rows(two_variants(bar), two_to_one(near), {false, false}).back().verdict;
}

}  // namespace

TEST_CASE("rows_of_a_lone_ratio_give_it_the_name_of_the_case") {
  const auto rows = bench::make_rows(two_variants(""), two_to_one(true), {false, false});
  CHECK(names(rows) ==
        std::vector<std::string>{"ours_vs_raw/ours", "ours_vs_raw/raw", "ours_vs_raw"});
  CHECK(rows[0].unit == bench::Unit::kPerSecond);
  CHECK(rows[0].summary.median == 40);
  CHECK(rows[2].unit == bench::Unit::kRatio);
  CHECK(rows[2].summary.median == 2);
  CHECK(rows[2].summary.runs == 3);
  CHECK(rows[2].round_trip_ns == 110);
  CHECK(rows[2].core_speed == 0.97);
  CHECK(rows[2].size == 64);
}

TEST_CASE("rows_of_a_lone_variant_give_it_the_name_of_the_case") {
  const bench::Case item = {.name = "fetch_add", .size = 8, .variants = {variant("any")}};
  const bench::Selection selection = {{{{33}, {{100}, {100}}}}, true};
  CHECK(names(bench::make_rows(item, selection, {false})) == std::vector<std::string>{"fetch_add"});
}

TEST_CASE("rows_of_several_ratios_name_both_sides") {
  bench::Case item = two_variants("");
  item.ratios.push_back({.over = "raw", .under = "ours"});
  const auto rows = bench::make_rows(item, two_to_one(true), {false, false});
  CHECK(rows[2].name == "ours_vs_raw/ours:raw");
  CHECK(rows[3].name == "ours_vs_raw/raw:ours");
  CHECK(rows[3].summary.median == 0.5);
}

TEST_CASE("rows_leave_out_skipped_variants_and_their_ratios") {
  const auto rows = bench::make_rows(two_variants(""), two_to_one(true), {false, true});
  CHECK(names(rows) == std::vector<std::string>{"ours_vs_raw/ours"});
}

TEST_CASE("rows_can_compare_with_half_of_the_round_trip") {
  const bench::Case item = {.name = "latency",
                            .size = 8,
                            .variants = {variant("one_way")},
                            .ratios = {{.over = "one_way", .under = bench::kHalfRoundTrip}}};
  const bench::Selection selection = {{{{75}, {{90}, {110}}}}, true};
  const auto rows = bench::make_rows(item, selection, {false});
  CHECK(names(rows) == std::vector<std::string>{"latency/one_way", "latency"});
  CHECK(rows[1].summary.median == 1.5);
}

TEST_CASE("bars_are_judged_on_near_rows_only") {
  CHECK(ratio_verdict(">= 2", true) == bench::Verdict::kMet);
  CHECK(ratio_verdict("<= 1.9", true) == bench::Verdict::kMissed);
  CHECK(ratio_verdict(">= 2", false) == bench::Verdict::kNotJudged);
  CHECK(ratio_verdict("", true) == bench::Verdict::kNoBar);
}

TEST_CASE("rows_of_far_rounds_have_the_bars_for_far_cores") {
  bench::Case item = two_variants(">= 2.5");
  item.variants[0].bar = "<= 35";
  item.ratios[0].far_bar = ">= 1.5";
  const auto rows = bench::make_rows(item, two_to_one(true), {false, false}, true);
  CHECK(rows.front().verdict == bench::Verdict::kNoBar);
  CHECK(rows.back().bar == ">= 1.5");
  CHECK(rows.back().verdict == bench::Verdict::kMet);
  CHECK(rows.back().far);
  CHECK_FALSE(rows.back().near);
}

TEST_CASE("bars_of_variants_are_judged_on_their_median") {
  bench::Case item = two_variants("");
  item.variants[0].bar = "<= 35";
  const auto rows = bench::make_rows(item, two_to_one(true), {false, false});
  CHECK(rows[0].verdict == bench::Verdict::kMissed);
  CHECK(rows[1].verdict == bench::Verdict::kNoBar);
}

TEST_CASE("figures_are_printed_with_three_digits_and_a_unit") {
  CHECK(bench::format_figure(51.26, bench::Unit::kNanoseconds) == "51.3 ns");
  CHECK(bench::format_figure(367.4, bench::Unit::kNanoseconds) == "367 ns");
  CHECK(bench::format_figure(104.2e6, bench::Unit::kPerSecond) == "104 M/s");
  CHECK(bench::format_figure(999.9e6, bench::Unit::kPerSecond) == "1 G/s");
  CHECK(bench::format_figure(12.37e9, bench::Unit::kBytesPerSecond) == "12.4 GB/s");
  CHECK(bench::format_figure(0.98149, bench::Unit::kRatio) == "0.981");
}

TEST_CASE("table_shows_value_bar_and_verdict") {
  const auto rows = bench::make_rows(two_variants(">= 2.5"), two_to_one(true), {false, false});
  const std::string table = bench::format_table(rows);
  CHECK_THAT(table, contains("ours_vs_raw/ours") && contains("40 /s") && contains("2.000") &&
                        contains(">= 2.5") && contains("MISSED") && contains("110 ns"));
}

TEST_CASE("json_has_one_object_a_row_with_the_agreed_keys") {
  const auto rows = bench::make_rows(two_variants(">= 1"), two_to_one(true), {false, false});
  const auto json = nlohmann::json::parse(bench::format_json(rows));
  REQUIRE(json.is_array());
  REQUIRE(json.size() == 3);
  const nlohmann::json expected = {{"case", "ours_vs_raw/ours"},
                                   {"size", 64},
                                   {"unit", "1/s"},
                                   {"median", 40.0},
                                   {"min", 20.0},
                                   {"max", 60.0},
                                   {"runs", 3},
                                   {"near", true},
                                   {"far", false}};
  CHECK(json[0] == expected);
  CHECK(json[2]["unit"] == "ratio");
}

TEST_CASE("json_of_no_rows_is_an_empty_array") {
  CHECK(nlohmann::json::parse(bench::format_json({})) == nlohmann::json::array());
}
