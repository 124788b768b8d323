// SPDX-License-Identifier: MIT
// Counting together (the paper's 5.7 and figure 8): everybody goes on when everybody is there.
#include "bench/sst/cases.hpp"

namespace sst_bench {
namespace {

struct CountRow {
  std::uint64_t count;
};

class Counting {
 public:
  void prepare(Node& node, std::uint32_t members, sst::Mode mode) {
    table_.make(node, first_processes(members), mode);
    if (!table_) return;
    goal_ = 0;
    table_
        ->when([this](const auto& t) {
          const std::uint64_t mine = t.mine(&CountRow::count);
          return mine < goal_ && t.min(&CountRow::count) >= mine;
        })
        .recurrent([](auto& t) { t.set(&CountRow::count, t.mine(&CountRow::count) + 1); });
  }
  void finish() { table_.reset(); }

  /// ns for a count.
  double run(bench::Batch& batch, bool crowded) {
    if (!table_) return 0;
    goal_ += batch.iterations();
    const auto done = [&] { return table_->min(&CountRow::count) == goal_; };
    let_others_fall_asleep();
    return batch.ns_each(
        [&] { crowded ? evaluate_until(*table_, done) : spin_until(*table_, done); });
  }

 private:
  CaseTable<CountRow> table_;
  std::uint64_t goal_ = 0;
};

}  // namespace

void add_counting_cases(bench::Suite& suite, const NodePtr& node) {
  auto two = std::make_shared<Counting>();
  const auto run_two = [=](bench::Batch& batch) { return two->run(batch, false); };
  // Counts a second / round trips a second >= 1.2 is: a count takes at most 2 / 1.2 half trips.
  suite.add({.name = "counting_vs_cacheline",
             .size = 2,
             .variants = {{.name = "count", .measure = run_two, .assist = run_two}},
             .ratios = {{.over = "count", .under = bench::kHalfRoundTrip, .bar = "<= 1.6667"}},
             .prepare = [=, &node](bench::Channel&) { two->prepare(*node, 2, sst::Mode::kWrites); },
             .finish = [=](bench::Channel&) { two->finish(); },
             .oversubscribed = true});
  for (const std::uint32_t members : {2, 3, 4, 8, 16}) {
    auto writes = std::make_shared<Counting>();
    auto reads = std::make_shared<Counting>();
    const auto rate = [](const std::shared_ptr<Counting>& counting) {
      return [=](bench::Batch& batch) { return 1e9 / counting->run(batch, true); };
    };
    const auto assist = [](const std::shared_ptr<Counting>& counting) {
      return [=](bench::Batch& batch) { counting->run(batch, true); };
    };
    suite.add({.name = "counting",
               .size = members,
               .unit = bench::Unit::kPerSecond,
               .variants = {{.name = "writes",
                             .measure = rate(writes),
                             .assist = assist(writes),
                             .bar = members == 3 ? ">= 50e3" : ""},
                            {.name = "reads", .measure = rate(reads), .assist = assist(reads)}},
               .prepare =
                   [=, &node](bench::Channel&) {
                     writes->prepare(*node, members, sst::Mode::kWrites);
                     reads->prepare(*node, members, sst::Mode::kReads);
                   },
               .finish =
                   [=](bench::Channel&) {
                     writes->finish();
                     reads->finish();
                   },
               .oversubscribed = true});
  }
}

}  // namespace sst_bench
