// SPDX-License-Identifier: MIT
// How long it takes until another process' predicate has seen an update (the paper's table 4 and
// figures 5 and 6).
#include <limits>

#include "bench/sst/cases.hpp"
#include "bench/sst/raw_pair.hpp"

namespace sst_bench {
namespace {

using sst::MemberId;
using sst::Mode;

std::uint64_t rounds_for(const bench::Batch& batch) {
  return link_bench::HandSignaling::posts_for(batch.iterations());
}

/// A row whose last element is what is looked for; Elements of 8 bytes.
template <std::size_t Elements>
struct RowOf {
  std::uint64_t a[Elements];
};

/// The paper's technique: process 0 sets its a; process 1 sees that by a predicate, and its trigger
/// sets its own a to the same; process 0 sees that by a predicate over rows 1 to `rows` and all
/// their elements. The rows of those who do not act hold the largest number.
template <std::size_t Elements>
class Detection {
 public:
  static constexpr std::size_t kLast = Elements - 1;
  using Row = RowOf<Elements>;

  void prepare(Node& node, std::uint32_t members, std::uint32_t rows, Mode mode) {
    Row initial{};
    if (node.fabric.process().value > 1) {
      for (std::uint64_t& each : initial.a) each = std::numeric_limits<std::uint64_t>::max();
    } else {
      for (std::size_t i = 0; i + 1 < Elements; ++i) {
        initial.a[i] = std::numeric_limits<std::uint64_t>::max();
      }
    }
    table_.make(node, first_processes(members), mode, initial);
    if (!table_) return;
    beats_ = 0;
    const MemberId self = table_->self();
    if (self.value == 0) {
      const auto last = static_cast<std::uint16_t>(rows);
      table_
          ->when([last](const auto& t) {
            const std::uint64_t wanted = t.mine(&Row::a, kLast);
            for (std::uint16_t row = 1; row <= last; ++row) {
              for (std::size_t i = 0; i < Elements; ++i) {
                if (t.get({row}, &Row::a, i) < wanted) return false;
              }
            }
            return wanted != 0;
          })
          .recurrent([this](auto& t) {
            if (++beats_ < goal_) {
              t.set(&Row::a, kLast, beats_ + 1);
            } else {
              t.store(&Row::a, kLast, 0u);
            }
          });
    } else if (self.value == 1) {
      table_
          ->when([](const auto& t) { return t.get({0}, &Row::a, kLast) > t.mine(&Row::a, kLast); })
          .recurrent([this](auto& t) {
            beats_ = t.get({0}, &Row::a, kLast);
            t.set(&Row::a, kLast, beats_);
          });
    }
  }
  void finish() { table_.reset(); }

  /// Processes 0 and 1: one way, ns.
  double run(bench::Batch& batch) {
    if (!table_ || table_->self().value > 1) return 0;
    const std::uint64_t rounds = rounds_for(batch);
    goal_ = beats_ + rounds;
    const std::uint64_t goal = goal_;
    let_others_fall_asleep();
    const double took_ns = batch.time_ns([&] {
      if (table_->self().value == 0) table_->set(&Row::a, kLast, beats_ + 1);
      spin_until(*table_, [&] { return beats_ == goal; });
    });
    return took_ns / static_cast<double>(2 * rounds);
  }

 private:
  CaseTable<Row> table_;
  std::uint64_t beats_ = 0;
  std::uint64_t goal_ = 0;
};

bench::Variant one_way(const char* name, const std::function<double(bench::Batch&)>& run) {
  return {.name = name, .measure = run, .assist = run};
}

void add_simplest(bench::Suite& suite, const NodePtr& node) {
  auto writes = std::make_shared<Detection<1>>();
  auto reads = std::make_shared<Detection<1>>();
  auto raw = std::make_shared<std::unique_ptr<RawPair>>();
  suite.add(
      {.name = "detect_vs_raw_write",
       .size = 8,
       .variants = {one_way("writes", [=](bench::Batch& batch) { return writes->run(batch); }),
                    one_way("raw_write",
                            [=](bench::Batch& batch) {
                              if (batch.rank() > 1) return 0.0;
                              const std::uint64_t rounds = rounds_for(batch);
                              let_others_fall_asleep();
                              return batch.time_ns([&] {
                                (*raw)->ping_pong(batch.rank() == 0, rounds);
                              }) / static_cast<double>(2 * rounds);
                            }),
                    one_way("reads", [=](bench::Batch& batch) { return reads->run(batch); })},
       .ratios = {{.over = "writes", .under = "raw_write", .bar = "<= 1.15"},
                  {.over = "reads", .under = "raw_write"},
                  {.over = "writes", .under = bench::kHalfRoundTrip}},
       .prepare =
           [=, &node](bench::Channel& channel) {
             writes->prepare(*node, 2, 1, Mode::kWrites);
             reads->prepare(*node, 2, 1, Mode::kReads);
             *raw = std::make_unique<RawPair>(channel, *node);
           },
       .finish =
           [=](bench::Channel& channel) {
             channel.barrier();
             raw->reset();
             writes->finish();
             reads->finish();
           },
       .oversubscribed = true});
}

/// Both modes, `members` in all, a predicate over `rows` rows of `Elements` elements.
template <std::size_t Elements>
void add_both(bench::Suite& suite, const NodePtr& node, const std::string& name, std::uint64_t size,
              std::uint32_t members, std::uint32_t rows) {
  auto writes = std::make_shared<Detection<Elements>>();
  auto reads = std::make_shared<Detection<Elements>>();
  suite.add(
      {.name = name,
       .size = size,
       .variants = {one_way("writes", [=](bench::Batch& batch) { return writes->run(batch); }),
                    one_way("reads", [=](bench::Batch& batch) { return reads->run(batch); })},
       .prepare =
           [=, &node](bench::Channel&) {
             writes->prepare(*node, members, rows, Mode::kWrites);
             reads->prepare(*node, members, rows, Mode::kReads);
           },
       .finish =
           [=](bench::Channel&) {
             writes->finish();
             reads->finish();
           },
       .oversubscribed = true});
}

}  // namespace

void add_detect_cases(bench::Suite& suite, const NodePtr& node) {
  add_simplest(suite, node);
  for (const std::uint32_t members : {4, 8, 16}) {
    for (std::uint32_t rows = 1; rows < members; rows = 2 * rows + 1) {
      add_both<1>(suite, node, "detect_complexity_n" + std::to_string(members), rows, members,
                  rows);
    }
  }
  for (const std::uint32_t members : {2, 8, 16}) {
    const std::string name = "detect_row_size_n" + std::to_string(members);
    add_both<1>(suite, node, name, 8, members, members - 1);
    add_both<8>(suite, node, name, 64, members, members - 1);
    add_both<64>(suite, node, name, 512, members, members - 1);
    add_both<512>(suite, node, name, 4096, members, members - 1);
  }
}

}  // namespace sst_bench
