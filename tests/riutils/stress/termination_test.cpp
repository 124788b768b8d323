// SPDX-License-Identifier: MIT
// Many rounds of random call trees over all channels at once, fibers among them.
#include "riutils/support/call_trees.hpp"

using namespace support;

TEST_CASE("random_call_trees_end_and_are_counted") {
  const std::uint64_t seed = test_seed();
  Random random(seed);
  for (int job = 0; job < 12; ++job) {
    Trees trees;
    trees.processes = static_cast<std::uint32_t>(1 + random.below(4));
    trees.threads = static_cast<std::uint32_t>(1 + random.below(2));
    trees.ways = static_cast<std::uint32_t>(1 + random.below(kAll));
    // Fibers alone are no way for calls.
    if (trees.ways == kFibers) trees.ways = kAll;
    trees.roots = static_cast<std::uint32_t>(random.size_up_to(150));
    trees.rounds = static_cast<std::uint32_t>(1 + random.below(20));
    trees.deepest = static_cast<std::uint32_t>(1 + random.below(20));
    const bool adversary = random.one_in(2);
    CAPTURE(seed, job, adversary, trees.processes, trees.threads, trees.ways, trees.roots,
            trees.rounds, trees.deepest);
    REQUIRE(grow_trees(trees, seed + static_cast<std::uint64_t>(job), adversary ? (seed | 1) : 0) ==
            "");
  }
}
