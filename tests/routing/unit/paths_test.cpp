// SPDX-License-Identifier: MIT
// Shortest paths against the reference, and what a wrong route looks like to it.
#include "routing/paths.hpp"

#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "support/random.hpp"

using namespace routing;

namespace {

Costs random_costs(support::Random& random, std::size_t routers) {
  Costs costs(routers);
  for (std::uint16_t a = 0; a < routers; ++a) {
    for (std::uint16_t b = 0; b < routers; ++b) {
      if (a != b && random.one_in(3)) costs.at({a}, {b}) = static_cast<Cost>(1 + random.below(50));
    }
  }
  return costs;
}

}  // namespace

TEST_CASE("dijkstra_finds_what_the_reference_finds") {
  const std::uint64_t seed = support::test_seed();
  support::Random random(seed);
  for (int i = 0; i < 2000; ++i) {
    CAPTURE(seed, i);
    const std::size_t routers = 2 + random.below(15);
    const Costs costs = random_costs(random, routers);
    const Routes routes =
        shortest_paths(costs, {static_cast<std::uint16_t>(random.below(routers))});
    REQUIRE(check(routes, costs) == "");
  }
}

TEST_CASE("the_reference_notices_wrong_routes") {
  Topology topology = hub_and_ring(5);
  Costs costs(topology);
  const Routes right = shortest_paths(costs, {1});
  CHECK(right.to[0].distance == 10);
  CHECK(right.to[3].distance == 20);
  CHECK(right.to[3].first_step == RouterId{0});
  REQUIRE(check(right, costs) == "");

  Routes wrong = right;
  wrong.to[3].distance = 21;
  CHECK_THAT(check(wrong, costs), support::contains("router 1 to 3: 21, the reference says 20"));
  wrong = right;
  wrong.to[3].before = {2};
  CHECK_THAT(check(wrong, costs), support::contains("the path costs"));
  wrong = right;
  wrong.to[3].first_step = {2};
  CHECK_THAT(check(wrong, costs), support::contains("begins with"));
  wrong = right;
  wrong.to[2].before = {4};
  CHECK_THAT(check(wrong, costs), support::contains("no link"));
  // A link that gets dearer makes routes wrong that were right.
  costs.at({0}, {3}) = 100;
  CHECK(check(right, costs) != "");
}
