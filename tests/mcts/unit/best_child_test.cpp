// SPDX-License-Identifier: MIT
// The child that four-at-a-time selection finds, against one that looks at each by itself.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mcts/children.hpp"
#include "mcts/simd.hpp"
#include "mcts/support/block.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using namespace mcts;
using support::Block;

namespace {

/// What selection compares, from the exact counts.
double bound_of(const Children& children, std::uint32_t i, const Policy& policy,
                std::uint32_t visits) {
  const Tally tally = children.tally(i);
  if (tally.proof != Proof::kNone) return tally.proof == Proof::kWin ? 1e9 : -1e9;
  const float factor = policy.factor(visits);
  const float wins = static_cast<float>(tally.points) * policy.wins_a_point;
  const auto own = static_cast<float>(tally.visits);
  if (!children.learns()) return wins / own + factor / std::sqrt(own);
  const Made made = children.made_of(i);
  return policy.blend(wins, own, static_cast<float>(made.wins), static_cast<float>(made.times)) +
         factor / std::sqrt(own + 1);
}

/// Some visits, points and proofs of children. Returns all visits.
std::uint32_t fill(Block& block, const Policy& policy, support::Random& random) {
  Children& children = *block.children;
  std::uint32_t all = 0;
  for (std::uint32_t i = 0; i < children.count(); ++i) {
    // Children that were not tried are only for those who learn: the others try all first.
    if (children.learns() && random.one_in(3)) continue;
    const auto visits = static_cast<std::uint32_t>(random.size_up_to(200));
    for (std::uint32_t visit = 0; visit < visits; ++visit) block.visit(i, policy);
    const Proof proof = random.one_in(20)   ? Proof::kWin
                        : random.one_in(10) ? Proof::kLoss
                                            : Proof::kNone;
    children.record(i, static_cast<std::uint32_t>(random.below(2 * visits + 1)), proof, policy);
    all += visits;
  }
  return all;
}

}  // namespace

TEST_CASE("highest_of_fours_is_the_highest_of_all") {
  const std::uint64_t seed = support::test_seed();
  INFO("CARIAMA_TEST_SEED=" << seed);
  support::Random random(seed);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t count = 1 + random.below(40);
    std::vector<float> all(count + 3, 1000);  // what lies behind does not count
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<float>(random.below(50)) - 25.0F;
    const std::uint32_t found = highest(static_cast<std::uint32_t>(count), [&](std::uint32_t i) {
      return FourFloats{all[i], all[i + 1], all[i + 2], all[i + 3]};
    });
    REQUIRE(found < count);
    REQUIRE(all[found] == *std::max_element(all.begin(), all.end() - 3));
  }
}

TEST_CASE("nothing_above_minus_infinity_is_the_first") {
  const auto nothing = [](std::uint32_t) {
    return FourFloats{} - std::numeric_limits<float>::infinity();
  };
  CHECK(highest(8, nothing) == 0);
  CHECK(highest(0, nothing) == 0);
}

TEST_CASE("best_child_is_that_of_the_exact_counts") {
  const std::uint64_t seed = support::test_seed();
  INFO("CARIAMA_TEST_SEED=" << seed);
  support::Random random(seed);
  for (int round = 0; round < 400; ++round) {
    const bool learns = random.one_in(2);
    const Policy policy{
        .exploration = random.one_in(2) ? 0.0F : 0.5F, .rave_playouts = 100, .rave = 100};
    Block block(1 + random.below(30), learns);
    const std::uint32_t visits = fill(block, policy, random);
    const Children& children = *block.children;

    const std::uint32_t found = children.best(policy, visits);
    REQUIRE(found < children.count());
    for (std::uint32_t i = 0; i < children.count(); ++i) {
      INFO("child " << i << " of " << children.count() << ", found " << found);
      REQUIRE(bound_of(children, found, policy, visits) >=
              bound_of(children, i, policy, visits) - 1e-4);
    }
  }
}

TEST_CASE("of_children_that_are_all_lost_one_is_selected") {
  for (const bool learns : {false, true}) {
    const Policy policy{.exploration = 0.5F, .rave_playouts = 10, .rave = 10};
    Block block(5, learns);
    Children& children = *block.children;
    for (std::uint32_t i = 0; i < 5; ++i) {
      block.visit(i, policy);
      CHECK(children.record(i, 0, Proof::kLoss, policy) == (i == 4));
    }
    CHECK(children.best(policy, 5) < 5);
  }
}
