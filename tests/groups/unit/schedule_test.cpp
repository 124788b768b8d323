// SPDX-License-Identifier: MIT
// Schedules: every member gets each block once, from one who has it, in as few steps as promised.
#include "groups/schedule.hpp"

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace groups;

namespace {

constexpr Schedule kAll[] = {Schedule::kSequential, Schedule::kChain, Schedule::kBinomialTree,
                             Schedule::kBinomialPipeline};

std::uint32_t log2_up(std::uint32_t members) {
  return static_cast<std::uint32_t>(std::bit_width(members - 1));
}

std::uint32_t steps_promised(Schedule schedule, std::uint32_t members, std::uint32_t blocks) {
  switch (schedule) {
    case Schedule::kSequential:
      return blocks * (members - 1);
    case Schedule::kChain:
      return blocks + members - 2;
    case Schedule::kBinomialTree:
      return blocks * log2_up(members);
    case Schedule::kBinomialPipeline:
      break;
  }
  return blocks + log2_up(members) - 1;
}

/// What is wrong with the schedule; empty when it is right.
std::string mistake(Schedule schedule, std::uint32_t members, std::uint32_t blocks) {
  const std::vector<Hop> all = hops(schedule, members, blocks);
  if (all.size() != std::size_t{members - 1} * blocks) return "not so many hops as needed";
  if (all.back().step + 1 != steps_promised(schedule, members, blocks)) {
    return "takes " + std::to_string(all.back().step + 1) + " steps";
  }
  // By member and block: the first step in which it is there.
  std::vector<std::vector<std::uint32_t>> there(members, std::vector<std::uint32_t>(blocks, ~0u));
  there[0].assign(blocks, 0);
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> sends, receives;
  std::uint32_t before = 0;
  for (const Hop& hop : all) {
    if (hop.step < before) return "steps are out of order";
    before = hop.step;
    if (hop.from >= members || hop.to >= members || hop.block >= blocks) return "out of range";
    if (there[hop.from][hop.block] > hop.step) return "a block is sent by one who lacks it";
    if (there[hop.to][hop.block] != ~0u) return "a block comes twice";
    if (sends[{hop.step, hop.from}]++ != 0) return "two sends in a step";
    if (receives[{hop.step, hop.to}]++ != 0) return "two receives in a step";
    there[hop.to][hop.block] = hop.step + 1;
  }
  return "";
}

}  // namespace

TEST_CASE("each_member_gets_each_block_once_in_the_promised_steps") {
  const Schedule schedule = GENERATE(from_range(std::begin(kAll), std::end(kAll)));
  INFO(to_string(schedule));
  for (std::uint32_t members = 2; members <= 70; ++members) {
    for (const std::uint32_t blocks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 31, 64}) {
      const std::string wrong = mistake(schedule, members, blocks);
      if (wrong.empty()) continue;
      FAIL_CHECK(members << " members, " << blocks << " blocks: " << wrong);
    }
  }
}

TEST_CASE("a_schedule_without_others_or_blocks_has_no_hops") {
  for (const Schedule schedule : kAll) {
    CHECK(hops(schedule, 1, 5).empty());
    CHECK(hops(schedule, 5, 0).empty());
  }
}

TEST_CASE("the_binomial_pipeline_is_that_of_the_paper") {
  // Two dimensions: the root injects a block a step, alternating between its neighbours.
  const std::vector<Hop> expected{{0, 0, 1, 0}, {1, 0, 2, 1}, {1, 1, 3, 0},
                                  {2, 0, 1, 2}, {2, 2, 3, 1}, {2, 3, 2, 0},
                                  {3, 1, 3, 2}, {3, 3, 1, 1}, {3, 0, 2, 2}};
  std::vector<Hop> all = hops(Schedule::kBinomialPipeline, 4, 3);
  CHECK_THAT(all, Catch::Matchers::UnorderedEquals(expected));
}
