// SPDX-License-Identifier: MIT
// More members than cores, all of them sending.
#include <array>

#include "bench/groups/group.hpp"

namespace groups_bench {
namespace {

/// Deliveries a second of all members together, until each knows that all have delivered its own.
double all_send(Group& group, bench::Batch& batch, sst::Order order) {
  if (!group) return group.end(batch.channel()), 0;
  const std::uint64_t each = (batch.iterations() + group.members() - 1) / group.members();
  const std::uint64_t delivered =
      (group.members() - (order == sst::Order::kUnordered ? 1 : 0)) * each;
  sst_bench::let_others_fall_asleep();
  const double ns = batch.time_ns([&] {
    group.send(each, true);
    group.receive(delivered, true);
  });
  group.end(batch.channel());
  require(group.take_sum() == delivered / each * sum_of(each), "messages were lost or changed");
  return static_cast<double>(group.members() * delivered) * 1e9 / ns;
}

void add(bench::Suite& suite, const NodePtr& node, const char* name, sst::Order order) {
  constexpr std::uint32_t kBytes = 16;
  constexpr std::array<std::uint32_t, 2> kSizes{2, 8};
  bench::Case item{.name = name,
                   .size = kBytes,
                   .unit = bench::Unit::kPerSecond,
                   .ratios = {{.over = "8", .under = "2", .bar = ">= 0.25"}},
                   .oversubscribed = true};
  const auto groups = std::make_shared<std::array<Group, kSizes.size()>>();
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const auto run = [=](bench::Batch& batch) { return all_send((*groups)[i], batch, order); };
    item.variants.push_back({.name = std::to_string(kSizes[i]), .measure = run, .assist = run});
  }
  item.prepare = [=, &node](bench::Channel&) {
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      (*groups)[i].make(*node, kSizes[i], kBytes, order);
    }
  };
  item.finish = [=](bench::Channel&) {
    for (Group& group : *groups) group.reset();
  };
  suite.add(std::move(item));
}

}  // namespace

void add_crowd_cases(bench::Suite& suite, const NodePtr& node) {
  add(suite, node, "all_send_unordered", sst::Order::kUnordered);
  add(suite, node, "all_send_by_turns", sst::Order::kByTurns);
}

}  // namespace groups_bench
