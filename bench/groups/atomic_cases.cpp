// SPDX-License-Identifier: MIT
// Messages in one order, of both members: how many, and how soon.
#include "bench/groups/group.hpp"

namespace groups_bench {
namespace {

constexpr std::uint32_t kMembers = 2;

/// Messages a second of both together, until each knows that all have delivered its own.
double both_send(Group& group, bench::Batch& batch) {
  if (!group) return group.end(batch.channel()), 0;
  const std::uint64_t each = (batch.iterations() + kMembers - 1) / kMembers;
  sst_bench::let_others_fall_asleep();
  const double ns = batch.time_ns([&] {
    group.send(each, false);
    group.receive(kMembers * each, false);
  });
  group.end(batch.channel());
  require(group.take_sum() == kMembers * sum_of(each), "messages were lost or changed");
  return static_cast<double>(kMembers * each) * 1e9 / ns;
}

/// From a send to the delivery at the other, who sends the next one then.
double to_and_fro(Group& group, bench::Batch& batch) {
  if (!group) return group.end(batch.channel()), 0;
  const std::uint64_t rounds = batch.iterations();
  std::uint64_t expected = batch.rank() == 0 ? 0 : 1;
  sst_bench::let_others_fall_asleep();
  const double ns = batch.time_ns([&] {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      while (group.delivered() < expected) group.evaluate();
      while (!group.try_send(i)) group.evaluate();
      group.flush();
      expected += 2;
    }
    group.receive(2 * rounds, false);
  });
  group.end(batch.channel());
  require(group.take_sum() == 2 * sum_of(rounds), "messages were lost or changed");
  return ns / static_cast<double>(2 * rounds);
}

void add(bench::Suite& suite, const NodePtr& node, const char* name, std::uint32_t bytes,
         bench::Unit unit, double (*run)(Group&, bench::Batch&), const char* bar,
         std::vector<bench::Ratio> ratios) {
  const auto group = std::make_shared<Group>();
  const auto variant = [=](bench::Batch& batch) { return run(*group, batch); };
  suite.add({.name = name,
             .size = bytes,
             .unit = unit,
             .variants = {{.name = "send", .measure = variant, .assist = variant, .bar = bar}},
             .ratios = std::move(ratios),
             .prepare =
                 [=, &node](bench::Channel&) {
                   group->make(*node, kMembers, bytes, sst::Order::kByTurns);
                 },
             .finish = [=](bench::Channel&) { group->reset(); },
             .oversubscribed = true});
}

}  // namespace

void add_atomic_cases(bench::Suite& suite, const NodePtr& node) {
  add(suite, node, "atomic_small", 16, bench::Unit::kPerSecond, both_send, ">= 20e6", {});
  add(suite, node, "atomic_small", 1024, bench::Unit::kPerSecond, both_send, ">= 5e6", {});
  // 3 round trips are 6 halves.
  add(suite, node, "atomic_latency", 16, bench::Unit::kNanoseconds, to_and_fro, "",
      {{.over = "send", .under = bench::kHalfRoundTrip, .bar = "<= 6"}});
}

}  // namespace groups_bench
