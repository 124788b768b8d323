// SPDX-License-Identifier: MIT
// Which moves are worth it, without processes: loads, shares, history, caches.
#include "policy.hpp"

#include <optional>
#include <vector>

#include "support/catch.hpp"

using adaptation::DeciderOptions;
using adaptation::Move;
using adaptation::NodeView;
using adaptation::Site;
using adaptation::SiteId;
using adaptation::detail::Policy;
using std::chrono::milliseconds;

namespace {

/// A judge, nodes that it judges, and a clock that is set by hand.
struct Court {
  explicit Court(DeciderOptions options = {.samples = 1},
                 std::vector<Site> sites = {{.name = "a"}, {.name = "b"}})
      : policy(sites, options) {}

  void add(std::uint8_t site, double load, double cached = 0) {
    NodeView node;
    node.process = {static_cast<std::uint16_t>(nodes.size())};
    node.present = true;
    node.site = node.serving = {site};
    node.load = load;
    node.cached = cached;
    nodes.push_back(node);
  }
  void set_loads(double a, double b) {
    for (NodeView& node : nodes) node.load = node.site.value == 0 ? a : b;
  }
  std::optional<Move> after(milliseconds pause) {
    now += pause;
    return policy.consider(nodes, now);
  }
  /// As after(), and the move is made.
  std::optional<Move> follow(milliseconds pause) {
    const auto move = after(pause);
    if (move) nodes[move->node.value].site = move->to;
    return move;
  }

  Policy policy;
  std::vector<NodeView> nodes;
  Policy::Clock::time_point now{std::chrono::hours(1)};
};

constexpr milliseconds kTick{1};

}  // namespace

TEST_CASE("a_node_of_the_idle_site_helps_the_loaded_one") {
  Court court;
  court.add(0, 10);
  court.add(0, 10);
  court.add(1, 1);
  court.add(1, 2);
  const auto move = court.after(kTick);
  REQUIRE(move);
  CHECK(move->from == SiteId{1});
  CHECK(move->to == SiteId{0});
  CHECK(court.policy.load({0}) == 10);
  CHECK(court.policy.load({1}) == 1.5);
}

TEST_CASE("no_node_moves_when_loads_are_nearly_equal_or_a_move_would_only_turn_them_round") {
  Court even;
  even.add(0, 10);
  even.add(0, 10);
  even.add(1, 9);
  even.add(1, 9);
  CHECK_FALSE(even.after(kTick));
  CHECK_FALSE(even.policy.wants());
  // One node each: what is left would have the load of both.
  Court turned({.samples = 1}, {{.name = "a"}, {.name = "b"}});
  turned.add(0, 10);
  turned.add(1, 9);
  turned.add(1, 9);
  CHECK_FALSE(turned.after(kTick));
}

TEST_CASE("a_site_keeps_its_minimum_and_claimed_nodes_do_not_count") {
  Court court({.samples = 1}, {{.name = "a"}, {.name = "b", .minimum = 2}});
  court.add(0, 100);
  court.add(1, 0);
  court.add(1, 0);
  CHECK_FALSE(court.after(kTick));
  CHECK(court.policy.can_spare({1}, court.nodes));
  court.nodes[1].claimed = true;
  CHECK_FALSE(court.policy.can_spare({1}, court.nodes));
  court.nodes[1].claimed = false;
  court.nodes[1].present = false;
  CHECK_FALSE(court.policy.can_spare({1}, court.nodes));
}

TEST_CASE("a_site_whose_nodes_have_all_died_comes_first") {
  Court court({.samples = 1}, {{.name = "a"}, {.name = "b"}, {.name = "c"}});
  for (int i = 0; i < 3; ++i) court.add(0, 0);
  court.add(1, 100);
  const auto move = court.after(kTick);
  REQUIRE(move);
  CHECK(*move == Move{move->node, {0}, {2}});
}

TEST_CASE("a_share_of_two_gives_twice_the_nodes") {
  Court court({.threshold = 0.05, .samples = 1, .settle = milliseconds(0)},
              {{.name = "a", .share = 2}, {.name = "b"}});
  for (int i = 0; i < 6; ++i) court.add(i % 2, 0);
  // The work of both sites is the same, whatever the nodes.
  for (int i = 0; i < 20; ++i) {
    double count[2] = {0, 0};
    for (const NodeView& node : court.nodes) ++count[node.site.value];
    court.set_loads(600 / count[0], 600 / count[1]);
    court.follow(kTick);
  }
  int first = 0;
  for (const NodeView& node : court.nodes) first += node.site == SiteId{0};
  CHECK(first == 4);
}

TEST_CASE("a_difference_must_last_for_several_samples") {
  Court court({.samples = 3});
  court.add(0, 10);
  court.add(1, 1);
  court.add(1, 1);
  CHECK_FALSE(court.after(kTick));
  CHECK(court.policy.wants());
  CHECK_FALSE(court.after(kTick));
  // A single sample without it, and it begins anew.
  court.set_loads(1, 1);
  CHECK_FALSE(court.after(kTick));
  court.set_loads(10, 1);
  CHECK_FALSE(court.after(kTick));
  CHECK_FALSE(court.after(kTick));
  CHECK(court.after(kTick));
}

TEST_CASE("after_a_move_of_anybody_its_sites_are_left_alone") {
  Court court({.samples = 1, .settle = milliseconds(50)});
  court.add(0, 10);
  for (int i = 0; i < 4; ++i) court.add(1, 1);
  court.after(kTick);
  // Another decider moved it.
  court.nodes[4].site = {0};
  CHECK_FALSE(court.after(kTick));
  CHECK(court.policy.wants());
  CHECK_FALSE(court.after(milliseconds(48)));
  CHECK(court.after(milliseconds(2)));
}

TEST_CASE("going_back_and_forth_gets_dearer_each_time_and_is_forgotten") {
  DeciderOptions options{.threshold = 0.15, .samples = 1, .settle = milliseconds(0)};
  options.memory = milliseconds(1000);
  Court court(options);
  for (int i = 0; i < 10; ++i) court.add(i < 5 ? 0 : 1, 1);
  // A sixth of the load goes with it.
  court.set_loads(100, 5);
  REQUIRE(court.follow(kTick));
  court.set_loads(1, 1);
  CHECK_FALSE(court.follow(kTick));
  // Back: a fifth is not enough any more.
  court.set_loads(1, 100);
  CHECK_FALSE(court.follow(kTick));
  CHECK_FALSE(court.follow(milliseconds(500)));
  // When that was long ago, it is.
  CHECK(court.follow(milliseconds(600)));
}

TEST_CASE("the_node_with_the_emptiest_cache_moves_and_none_whose_cache_is_worth_more") {
  Court court({.samples = 1, .cache_price = 0.001});
  court.add(0, 10);
  court.add(1, 1, 2000);
  court.add(1, 1, 500);
  court.add(1, 1, 1000);
  const auto move = court.after(kTick);
  REQUIRE(move);
  CHECK(move->node.value == 2);
  for (NodeView& node : court.nodes) node.cached = 1e6;
  CHECK_FALSE(court.after(kTick));
}
