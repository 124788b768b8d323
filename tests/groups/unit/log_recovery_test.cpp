// SPDX-License-Identifier: MIT
// Which log a group goes on with, and what the other members cut.
#include "groups/log_recovery.hpp"

#include <optional>
#include <vector>

#include "groups/support/log_folder.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using namespace groups;

namespace {

/// A log from `first` to `end`, with these views.
LogSummary made(std::uint64_t first, std::uint64_t end, std::vector<LogView> views) {
  return {{first, end, views.empty() ? 0 : views.back().view}, std::move(views)};
}
using Logs = std::vector<std::optional<LogSummary>>;

}  // namespace

TEST_CASE("the_longest_log_of_the_latest_view_wins") {
  const LogSummary shorter = made(0, 10, {{1, 0}}), longer = made(0, 12, {{1, 0}}),
                   later = made(0, 11, {{1, 0}, {2, 9}});
  CHECK(longest_log(Logs{shorter, longer, shorter}) == 1);
  CHECK(longest_log(Logs{shorter, longer, later}) == 2);
  CHECK(longest_log(Logs{shorter, shorter, shorter}) == 0);
  CHECK(longest_log(Logs{std::nullopt, shorter, longer}) == 2);
}

TEST_CASE("fewer_than_a_majority_decide_nothing") {
  const LogSummary log = made(0, 10, {{1, 0}});
  CHECK(longest_log(Logs{log, std::nullopt, std::nullopt}) == std::nullopt);
  CHECK(longest_log(Logs{log, std::nullopt}) == std::nullopt);
  CHECK(longest_log(Logs{log, log, std::nullopt, std::nullopt}) == std::nullopt);
  CHECK(longest_log(Logs{log}) == 0);
  CHECK(longest_log(Logs{}) == std::nullopt);
}

TEST_CASE("a_tail_of_a_view_that_the_others_left_is_cut") {
  const LogSummary chosen = made(0, 20, {{1, 0}, {3, 10}});
  CHECK(agrees_up_to(made(0, 7, {{1, 0}}), chosen) == 7);
  CHECK(agrees_up_to(made(0, 15, {{1, 0}}), chosen) == 10);
  CHECK(agrees_up_to(made(0, 15, {{1, 0}, {2, 8}}), chosen) == 8);
  CHECK(agrees_up_to(made(0, 15, {{1, 0}, {3, 10}}), chosen) == 15);
  CHECK(agrees_up_to(chosen, chosen) == 20);
  CHECK(agrees_up_to(made(0, 0, {}), chosen) == 0);
  CHECK(agrees_up_to(made(0, 5, {{2, 0}}), chosen) == 0);
}

TEST_CASE("a_log_that_begins_later_than_another_ends_has_nothing_in_common_with_it") {
  const LogSummary chosen = made(100, 120, {{4, 100}});
  CHECK(agrees_up_to(made(0, 30, {{1, 0}}), chosen) == 0);
  CHECK(agrees_up_to(made(90, 110, {{4, 90}}), chosen) == 110);
  CHECK(agrees_up_to(made(0, 90, {{4, 80}}), chosen) < 100);
}

TEST_CASE("a_summary_tells_the_views_of_a_log_and_travels_as_bytes") {
  const support::TestFolder folder;
  {
    Log log(support::log_options(folder));
    support::append_until(log, 5, 1);
    support::append_until(log, 9, 4);
  }
  const LogSummary found = summary(Log(support::log_options(folder)));
  CHECK(found == made(0, 9, {{1, 0}, {4, 5}}));
  CHECK(from_bytes(to_bytes(found)) == found);
  CHECK(from_bytes(to_bytes({})) == LogSummary{});
  CHECK(support::error_text([] { from_bytes({}); }).find("a length that none has") !=
        std::string::npos);
}

TEST_CASE("what_is_cut_from_a_log_is_not_in_its_summary") {
  const support::TestFolder folder;
  {
    Log log(support::log_options(folder));
    support::append_until(log, 10, 1);
    support::append_until(log, 20, 3);
  }
  Log log(support::log_options(folder));
  CHECK(summary(log) == made(0, 20, {{1, 0}, {3, 10}}));
  log.cut(15);
  CHECK(summary(log) == made(0, 15, {{1, 0}, {3, 10}}));
  log.cut(10);
  CHECK(summary(log) == made(0, 10, {{1, 0}}));
  log.restart_at(40);
  CHECK(summary(log) == made(40, 40, {}));
}
