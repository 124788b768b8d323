// SPDX-License-Identifier: MIT
// How many evaluations a second: one predicate, many, and over many rows (the paper's 5.5.3 and
// figure 7).
#include <utility>

#include "bench/sst/cases.hpp"

namespace sst_bench {
namespace {

/// The memory of a table of any number of rows, without processes that nobody would hear from.
using Rows = sst::Snapshot<SmallRow>;
using All = sst::Predicates<Rows>;

template <class Predicate>
sst::When<Rows, Predicate> when(All& all, Predicate predicate) {
  return {all, std::move(predicate)};
}

Rows rows_of_ones(std::size_t count) {
  Rows rows(count, {0});
  for (std::uint16_t i = 0; i < count; ++i) rows.cells({i}).a = 1;
  return rows;
}

double evaluations_per_second(bench::Batch& batch, All& all, Rows& rows) {
  let_others_fall_asleep();
  return batch.per_second([&] {
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      all.evaluate(rows);
      bench::keep_memory();
    }
  });
}

/// SST[1].a and ... and SST[r].a, always true; the trigger counts.
bench::Variant over_rows(std::size_t count, const char* bar) {
  return {.name = "predicates",
          .measure =
              [count](bench::Batch& batch) {
                Rows rows = rows_of_ones(count + 1);
                All all;
                std::uint64_t fired = 0;
                when(all, [](const Rows& t) { return t.all(&SmallRow::a); }).recurrent([&](Rows&) {
                  ++fired;
                });
                const double rate = evaluations_per_second(batch, all, rows);
                if (fired != batch.iterations()) throw std::runtime_error("a trigger did not run");
                return rate;
              },
          .bar = bar};
}

/// `Own` makes the types of the predicates differ.
template <std::size_t Own>
void add_rare(All& all, std::uint64_t limit) {
  when(all, [limit](const Rows& t) {
    return t.get({1}, &SmallRow::a) > limit + 0 * Own;
  }).recurrent([](Rows&) {});
}
template <std::size_t... I>
void add_differing(All& all, std::index_sequence<I...>) {
  (add_rare<I>(all, 10 + I), ...);
}

bench::Variant a_hundred(const char* name, bool alike, const char* bar) {
  return {.name = name,
          .measure =
              [alike](bench::Batch& batch) {
                constexpr std::size_t kPredicates = 100;
                Rows rows = rows_of_ones(2);
                All all;
                if (alike) {
                  for (std::size_t i = 0; i < kPredicates; ++i) add_rare<0>(all, 10 + i);
                } else {
                  add_differing(all, std::make_index_sequence<kPredicates>());
                }
                return 1e9 / evaluations_per_second(batch, all, rows);
              },
          .bar = bar};
}

}  // namespace

void add_evaluation_cases(bench::Suite& suite) {
  suite.add({.name = "evaluations",
             .size = 1,
             .unit = bench::Unit::kPerSecond,
             .variants = {over_rows(1, ">= 50e6")},
             .oversubscribed = true});
  suite.add({.name = "evaluations_100_predicates",
             .size = 100,
             .variants = {a_hundred("alike", true, "<= 150"), a_hundred("differing", false, "")},
             .oversubscribed = true});
  for (const std::size_t rows : {2, 4, 8, 16, 29}) {
    suite.add({.name = "evaluations_rows",
               .size = rows,
               .unit = bench::Unit::kPerSecond,
               .variants = {over_rows(rows, rows == 29 ? ">= 20e6" : "")},
               .oversubscribed = true});
  }
}

}  // namespace sst_bench
