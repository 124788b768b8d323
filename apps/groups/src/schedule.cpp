// SPDX-License-Identifier: MIT
// The schedules that a formula gives; the binomial pipeline has a file of its own.
#include "groups/schedule.hpp"

#include <algorithm>

#include "binomial_pipeline.hpp"

namespace groups {
namespace {

std::vector<Hop> sequential(std::uint32_t members, std::uint32_t blocks) {
  std::vector<Hop> all;
  for (std::uint32_t to = 1; to < members; ++to) {
    for (std::uint32_t block = 0; block < blocks; ++block) {
      all.push_back({(to - 1) * blocks + block, 0, to, block});
    }
  }
  return all;
}

std::vector<Hop> chain(std::uint32_t members, std::uint32_t blocks) {
  std::vector<Hop> all;
  for (std::uint32_t step = 0; step + 2 < blocks + members; ++step) {
    const std::uint32_t first = step < blocks ? 0 : step - blocks + 1;
    for (std::uint32_t from = first; from <= step && from + 1 < members; ++from) {
      all.push_back({step, from, from + 1, step - from});
    }
  }
  return all;
}

std::vector<Hop> binomial_tree(std::uint32_t members, std::uint32_t blocks) {
  std::vector<Hop> all;
  std::uint32_t step = 0;
  for (std::uint32_t have = 1; have < members; have *= 2) {
    for (std::uint32_t block = 0; block < blocks; ++block, ++step) {
      for (std::uint32_t from = 0; from < have && from + have < members; ++from) {
        all.push_back({step, from, from + have, block});
      }
    }
  }
  return all;
}

}  // namespace

std::vector<Hop> hops(Schedule schedule, std::uint32_t members, std::uint32_t blocks) {
  if (members < 2 || blocks == 0) return {};
  switch (schedule) {
    case Schedule::kSequential:
      return sequential(members, blocks);
    case Schedule::kChain:
      return chain(members, blocks);
    case Schedule::kBinomialTree:
      return binomial_tree(members, blocks);
    case Schedule::kBinomialPipeline:
      break;
  }
  return BinomialPipeline(members, blocks).hops();
}

const char* to_string(Schedule schedule) noexcept {
  switch (schedule) {
    case Schedule::kSequential:
      return "sequential";
    case Schedule::kChain:
      return "chain";
    case Schedule::kBinomialTree:
      return "binomial tree";
    case Schedule::kBinomialPipeline:
      break;
  }
  return "binomial pipeline";
}

}  // namespace groups
