// SPDX-License-Identifier: MIT
// The command line that all benches share.
#include "bench/harness/options.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

namespace {

using support::contains;

bench::Options parse(const std::vector<std::string>& arguments,
                     const std::vector<bench::OwnOption>& own = {}) {
  return bench::parse_options("some_bench", "what it measures", arguments, own);
}

// The status with which these arguments end the program; -1 when they do not.
int status_of(const std::vector<std::string>& arguments) {
  try {
    parse(arguments);
  } catch (const bench::UsageExit& usage) {
    return usage.status();
  }
  return -1;
}

std::string text_of(const std::vector<std::string>& arguments) {
  try {
    parse(arguments);
  } catch (const bench::UsageExit& usage) {
    return usage.what();
  }
  return "(no end)";
}

}  // namespace

TEST_CASE("command_line_that_is_empty_gives_the_defaults") {
  const bench::Options options = parse({});
  CHECK(options.runs == bench::kDefaultRuns);
  CHECK(options.batch_ms == bench::kBatchMs);
  CHECK(options.near.round_trip_ns == bench::kNearThresholdNs);
  CHECK(options.near.core_speed == bench::kMinCoreSpeed);
  CHECK_FALSE(options.near.far);
  CHECK(parse({"--far"}).near.far);
  CHECK_FALSE(options.smoke);
  CHECK_FALSE(options.check);
  CHECK_FALSE(options.list);
  CHECK(options.filter.empty());
  CHECK(options.json.empty());
}

TEST_CASE("command_line_options_are_read_in_any_order") {
  const bench::Options options =
      parse({"--check", "--json", "out.json", "--filter", "a|b", "--runs", "9", "--near", "300",
             "--core-speed", "0.8", "--batch-ms", "10", "--patience", "0", "--list"});
  CHECK(options.check);
  CHECK(options.list);
  CHECK(options.json == "out.json");
  CHECK(options.filter == "a|b");
  CHECK(options.runs == 9);
  CHECK(options.near.round_trip_ns == 300);
  CHECK(options.near.core_speed == 0.8);
  CHECK(options.batch_ms == 10);
  CHECK(options.patience_s == 0);
}

TEST_CASE("command_line_refuses_fewer_runs_than_a_median_needs") {
  CHECK(status_of({"--runs", "4"}) == 2);
  CHECK(status_of({"--runs", "5"}) == -1);
  CHECK_THAT(text_of({"--runs", "4"}), contains("--runs 4"));
}

TEST_CASE("smoke_shortens_batches_and_allows_a_single_run") {
  const bench::Options options = parse({"--smoke"});
  CHECK(options.smoke);
  CHECK(options.runs == bench::kSmokeRuns);
  CHECK(options.batch_ms == bench::kSmokeBatchMs);
  CHECK(options.patience_s == 0);
  CHECK(parse({"--smoke", "--runs", "1"}).runs == 1);
  CHECK(status_of({"--smoke", "--runs", "0"}) == 2);
}

TEST_CASE("smoke_cannot_be_checked_against_bars") { CHECK(status_of({"--smoke", "--check"}) == 2); }

TEST_CASE("command_line_explains_a_filter_that_is_no_regular_expression") {
  CHECK(status_of({"--filter", "["}) == 2);
  CHECK_THAT(text_of({"--filter", "["}), contains("--filter ["));
}

TEST_CASE("command_line_refuses_what_it_does_not_know") {
  CHECK(status_of({"--no-such-option"}) == 2);
  CHECK(status_of({"stray"}) == 2);
  CHECK(status_of({"--near", "-5"}) == 2);
  CHECK(status_of({"--core-speed", "1.1"}) == 2);
  CHECK_THAT(text_of({"--no-such-option"}), contains("--help"));
}

TEST_CASE("help_ends_with_status_zero_and_names_the_options") {
  CHECK(status_of({"--help"}) == 0);
  CHECK_THAT(text_of({"--help"}), contains("what it measures") && contains("--filter REGEX"));
}

TEST_CASE("command_line_takes_options_of_the_bench_itself") {
  std::string device = "auto";
  const std::vector<bench::OwnOption> own = {{"--device", &device, "RDMA device"}};
  parse({}, own);
  CHECK(device == "auto");
  parse({"--device", "shm"}, own);
  CHECK(device == "shm");
}
