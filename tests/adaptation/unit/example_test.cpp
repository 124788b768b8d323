// SPDX-License-Identifier: MIT
// The example of the README.
#include <vector>

#include "adaptation/adaptation.hpp"
#include "dsfabric/support/alone.hpp"
#include "support/catch.hpp"

TEST_CASE("the_example_of_the_readme") {
  dsfabric::Fabric fabric = support::alone();
  const std::vector<int> queue(3);
  int forgotten = 0, told = 0;
  const auto forget_cache_of = [&](adaptation::SiteId) { ++forgotten; };
  const auto tell = [&](const adaptation::Move&) { ++told; };

  const std::vector<adaptation::Site> sites{{.name = "shop", .share = 2}, {.name = "news"}};

  adaptation::Node node(fabric, sites, {0});  // in each process that serves
  node.load(queue.size());                    // as often as it changes
  if (const auto move = node.moved()) {
    forget_cache_of(move->from);
    node.serve(move->to);
  }

  adaptation::Decider decider(fabric, sites);  // in any process
  if (decider.step() == adaptation::Outcome::kMoved) tell(decider.last_move());

  // The only node of its site stays.
  CHECK(forgotten + told == 0);
  CHECK(decider.load({0}) == 6);
}
