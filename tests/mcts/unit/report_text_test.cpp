// SPDX-License-Identifier: MIT
// Reports say what is known of a search, and do not pass off a part of its counts as the whole.
#include "hex/report_text.hpp"

#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/matchers.hpp"

namespace {

using support::contains;

mcts::Report report_of_two_moves() {
  mcts::Report report;
  report.moves = {{0, 900, 0.6, mcts::Proof::kNone}, {1, 100, 0.4, mcts::Proof::kNone}};
  report.seconds = 2;
  report.total.started = report.total.finished = 1000;
  report.total.simulations = 990;
  report.total.nodes = 980;
  report.total.calls = 70;
  return report;
}

}  // namespace

TEST_CASE("report_of_a_whole_search_has_all_counts") {
  const hex::Position position(5, false);
  mcts::Settings settings;
  settings.playouts = 16;
  const mcts::Report report = report_of_two_moves();
  CHECK_THAT(hex::describe(report, position, settings),
             contains("1000 rollouts, 2.00 s: 980 nodes, 7920 simulations/s"));
  const nlohmann::json json = hex::to_json(report, position, settings);
  CHECK(json["nodes"] == 980);
  CHECK(json["rollouts"] == 1000);
  CHECK(json["simulations_per_second"] == 7920);
}

TEST_CASE("report_after_a_lost_process_counts_what_came_back_to_the_root") {
  const hex::Position position(5, false);
  mcts::Settings settings;
  settings.playouts = 16;
  mcts::Report report = report_of_two_moves();
  report.failure = "process 1 is gone";
  // What the first worker did by itself: nothing, as all nodes are with the others.
  report.total = {};
  const std::string text = hex::describe(report, position, settings);
  CHECK_THAT(text, contains("The search ended early: process 1 is gone"));
  CHECK_THAT(text, contains("1000 rollouts, 2.00 s: about 8000 simulations/s"));
  CHECK(text.find(" 0 nodes") == std::string::npos);
  const nlohmann::json json = hex::to_json(report, position, settings);
  CHECK(json["nodes"].is_null());
  CHECK(json["calls"].is_null());
  CHECK(json["rollouts"] == 1000);
  CHECK(json["simulations_per_second"] == 8000);
}
