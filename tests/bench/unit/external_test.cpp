// SPDX-License-Identifier: MIT
// Running another program as a yardstick: the figure it prints, and what happens without one.
#include "bench/harness/external.hpp"

#include "bench/harness/batch.hpp"
#include "bench/harness/clock.hpp"
#include "bench/harness/pin.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

namespace {

using support::contains;

bench::External shell(const std::string& script) {
  return {.program = "sh", .client = {"-c", script}, .pattern = R"(figure: ([\d.]+))"};
}

double run(const bench::External& external) {
  return bench::run_external(external, bench::usable_cores());
}

std::string skip_reason(const bench::External& external) {
  try {
    run(external);
  } catch (const bench::Skip& skip) {
    return skip.what();
  }
  return "(not skipped)";
}

}  // namespace

TEST_CASE("figure_is_the_last_one_that_the_pattern_finds") {
  CHECK(bench::parse_figure("rate 1.5\nrate 2.5\n", "rate ([0-9.]+)") == 2.5);
}

TEST_CASE("figure_that_is_missing_is_a_skip_that_quotes_the_output") {
  CHECK_THROWS_AS(bench::parse_figure("nothing here", "rate ([0-9.]+)"), bench::Skip);
  CHECK_THAT(skip_reason(shell("echo unusual")), contains("unusual"));
}

TEST_CASE("external_figure_is_scaled_to_the_unit_of_the_case") {
  bench::External external = shell("echo figure: 0.055");
  external.scale = 1000;
  CHECK(run(external) == Approx(55));
}

TEST_CASE("external_program_sees_its_environment") {
  bench::External external = shell("echo figure: $SOME_FIGURE");
  external.environment = {{"SOME_FIGURE", "42"}};
  CHECK(run(external) == 42);
}

TEST_CASE("external_program_runs_on_one_core") { CHECK(run(shell("echo figure: $(nproc)")) == 1); }

TEST_CASE("external_server_runs_beside_the_client") {
  bench::External external = shell("");
  external.server = {"-c", "read line < /dev/null; exit 0"};
  external.client = {"-c", "echo figure: 3"};
  external.head_start = std::chrono::milliseconds{20};
  CHECK(run(external) == 3);
}

TEST_CASE("external_program_that_is_not_installed_is_skipped") {
  bench::External external = shell("");
  external.program = "no-such-program-anywhere";
  CHECK_FALSE(bench::installed(external.program));
  CHECK(bench::installed("sh"));
  CHECK(skip_reason(external) == "no-such-program-anywhere: not installed");
}

TEST_CASE("external_program_that_fails_is_skipped_with_its_last_words") {
  CHECK_THAT(skip_reason(shell("echo no route >&2; exit 3")),
             contains("status 3") && contains("no route"));
}

TEST_CASE("external_program_that_hangs_is_stopped_at_its_limit") {
  bench::External external = shell("sleep 60");
  external.limit = std::chrono::seconds{1};
  const double took_s =
      bench::time_ns([&] { CHECK_THAT(skip_reason(external), contains("slow")); });
  CHECK(took_s < 10e9);
}

TEST_CASE("external_server_that_does_not_end_is_stopped_at_the_limit") {
  bench::External external = shell("echo figure: 1");
  external.server = {"-c", "exec sleep 60"};
  external.head_start = std::chrono::milliseconds{0};
  external.limit = std::chrono::seconds{1};
  CHECK_THAT(skip_reason(external), contains("does not end"));
}
