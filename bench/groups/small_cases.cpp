// SPDX-License-Identifier: MIT
// Small messages of one sender, beside a ring made by hand.
#include "bench/groups/group.hpp"

namespace groups_bench {

void add_small_cases(bench::Suite& suite, const NodePtr& node, const ring_bench::HandRing& ring) {
  constexpr std::uint32_t kBytes = 16;
  const auto group = std::make_shared<Group>();
  const auto run = [=](bench::Batch& batch) { return stream(*group, batch); };
  bench::Variant by_hand = ring_bench::by_hand<kBytes>(ring);
  by_hand.assist = [serve = by_hand.assist](bench::Batch& batch) {
    if (batch.rank() == 1) serve(batch);
  };
  suite.add({.name = "multicast_small",
             .size = kBytes,
             .unit = bench::Unit::kPerSecond,
             .variants = {{.name = "multicast", .measure = run, .assist = run, .bar = ">= 60e6"},
                          std::move(by_hand)},
             .ratios = {{.over = "multicast", .under = "ring", .bar = ">= 0.5"}},
             .prepare =
                 [=, &node](bench::Channel&) {
                   group->make(*node, 2, kBytes, sst::Order::kUnordered, {{0}});
                 },
             .finish = [=](bench::Channel&) { group->reset(); },
             .oversubscribed = true});
}

}  // namespace groups_bench
