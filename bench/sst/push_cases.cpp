// SPDX-License-Identifier: MIT
// What a push costs for each member that it goes to.
#include <array>

#include "bench/sst/cases.hpp"

namespace sst_bench {

void add_push_cases(bench::Suite& suite, const NodePtr& node) {
  constexpr std::array<std::uint32_t, 4> kMembers{2, 4, 8, 16};
  auto tables = std::make_shared<std::array<CaseTable<SmallRow>, kMembers.size()>>();
  bench::Case item{.name = "push_all_members", .size = 8, .oversubscribed = true};
  for (std::size_t i = 0; i < kMembers.size(); ++i) {
    const std::uint32_t members = kMembers[i];
    item.variants.push_back({.name = std::to_string(members), .measure = [=](bench::Batch& batch) {
                               sst::Table<SmallRow>& table = *(*tables)[i];
                               let_others_fall_asleep();
                               const double ns = batch.ns_each([&] {
                                 for (std::uint64_t n = 0; n < batch.iterations(); ++n) {
                                   table.set(&SmallRow::a, n);
                                 }
                               });
                               return ns / (members - 1);
                             }});
    if (i == 0) continue;
    item.ratios.push_back({.over = std::to_string(members), .under = "2", .bar = "<= 1.2"});
  }
  item.prepare = [=, &node](bench::Channel&) {
    for (std::size_t i = 0; i < kMembers.size(); ++i) {
      (*tables)[i].make(*node, first_processes(kMembers[i]), sst::Mode::kWrites);
    }
  };
  item.finish = [=](bench::Channel&) {
    for (CaseTable<SmallRow>& table : *tables) table.reset();
  };
  suite.add(std::move(item));
}

}  // namespace sst_bench
