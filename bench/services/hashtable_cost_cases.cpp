// SPDX-License-Identifier: MIT
// Predicted beside measured, as figure 4 of the paper: find, insert and remove at several loads.
#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "bench/services/hashtable_cases.hpp"

namespace services_bench {
namespace {

using dsfabric::Thread;
using fabric_bench::NodePtr;
using fabric_bench::on_worker;
using fabric_bench::require;
using hashtable::Mode;

constexpr std::uint32_t kBuckets = 1024;
constexpr std::uint32_t kSlots = kBuckets * hashtable::detail::shape_of(1, 1).slots;
/// Keys that are found, inserted and removed, after as many of kWarm that are not measured.
constexpr std::size_t kKeys = 400;
constexpr std::size_t kWarm = 300;
/// Keys that are found in Mode::kCached.
constexpr std::size_t kFound = 1600;
/// Entries that are kept then.
constexpr std::uint32_t kKept = 1 << 14;
constexpr hashtable::cost::Subject kSubject{.block_bytes = Table::kBlockBytes,
                                            .entry_bytes = Table::kEntryBytes,
                                            .table_bytes = kBuckets * Table::kBlockBytes,
                                            .kept = kKept,
                                            .rounds = 5000};

bool once(Table& table, Operation operation, std::uint64_t key) {
  switch (operation) {
    case Operation::kFind:
      return table.find(key) == key;
    case Operation::kInsert:
      return table.insert(key, key) == Status::kDone;
    default:
      return table.remove(key) == Status::kDone;
  }
}

/// A table of the other process that is `percent` full, then process 0 does all of kKeys. The
/// figure is the measured latency, or that which the model predicts for this table and job.
double run(Thread& self, bench::Batch& batch, Operation operation, std::uint32_t percent,
           bool predicted, TableFixture& shared) {
  shared.make(self, {.growth = hashtable::Growth::kChain, .bytes = 3 << 20, .buckets = kBuckets});
  Table& table = *shared.table;
  const hashtable::cost::Costs costs =
      predicted ? hashtable::cost::measure(self, kSubject) : hashtable::cost::Costs{};
  std::vector<std::uint64_t> keys = keys_of(1, 2, kSlots * percent / 100);
  std::vector<std::uint64_t> fresh = keys_of(1, 2, kWarm + kKeys, 1 + keys.back());
  std::vector<std::uint64_t> there = keys;
  if (predicted && operation == Operation::kInsert) {
    // The table as it is in the middle of the inserts that are measured.
    there.insert(there.end(), fresh.begin(), fresh.begin() + kWarm + kKeys / 2);
  }
  if (table.detail().rank() == 1) {
    for (const std::uint64_t key : there) {
      require(table.insert(key, key) == Status::kDone, "an insert");
    }
  }
  const auto loads = self.all_gather(table.load());
  double ns = 0;
  if (table.detail().rank() == 0 && predicted) {
    ns = hashtable::cost::expect(operation, Mode::kOneSided, costs.alone, 0, loads[1]);
  } else if (table.detail().rank() == 0) {
    std::shuffle(keys.begin(), keys.end(), std::mt19937_64(percent));
    own_lines(self, table);
    const std::vector<std::uint64_t>& used = operation == Operation::kInsert ? fresh : keys;
    const auto all_of = [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        require(once(table, operation, used[i]), "an operation on the table");
    };
    all_of(0, kWarm);
    ns = batch.time_ns([&] { all_of(kWarm, kWarm + kKeys); }) / kKeys;
  }
  shared.end(self);
  return ns;
}

/// Finds in Mode::kCached of which `percent` are of keys that were found before.
double find_cached(Thread& self, bench::Batch& batch, std::uint32_t percent, bool predicted,
                   TableFixture& shared) {
  shared.make(self, {.mode = Mode::kCached,
                     .growth = hashtable::Growth::kChain,
                     .bytes = 3 << 20,
                     .buckets = kBuckets,
                     .cached = kKept});
  Table& table = *shared.table;
  const hashtable::cost::Costs costs =
      predicted ? hashtable::cost::measure(self, kSubject) : hashtable::cost::Costs{};
  std::vector<std::uint64_t> keys = keys_of(1, 2, kSlots / 2);
  if (table.detail().rank() == 1) {
    for (const std::uint64_t key : keys) require(table.insert(key, key) == Status::kDone, "insert");
  }
  const auto loads = self.all_gather(table.load());
  double ns = 0;
  if (table.detail().rank() == 0 && predicted) {
    ns = hashtable::cost::expect(Operation::kFind, Mode::kCached, costs.alone, percent / 100.0,
                                 loads[1]);
  } else if (table.detail().rank() == 0) {
    keys.resize(kFound);
    own_lines(self, table);
    for (std::size_t i = 0; i < kFound * percent / 100; ++i) {
      require(table.find(keys[i]) == keys[i], "a find");
    }
    std::shuffle(keys.begin(), keys.end(), std::mt19937_64(percent));
    ns = batch.time_ns([&] {
      for (const std::uint64_t key : keys) require(table.find(key) == key, "a find");
    }) / kFound;
  }
  shared.end(self);
  return ns;
}

void add_hit_case(bench::Suite& suite, const NodePtr& node, std::uint32_t percent) {
  const auto shared = std::make_shared<TableFixture>();
  const auto variant = [&](const std::string& which, bool predicted) {
    const auto work = on_worker(node, [=](Thread& self, bench::Batch& batch) {
      return find_cached(self, batch, percent, predicted, *shared);
    });
    return bench::Variant{.name = which, .measure = work, .assist = work};
  };
  suite.add({.name = "cost_hits",
             .size = percent,
             .variants = {variant("predicted", true), variant("measured", false)},
             .ratios = {{.over = "predicted", .under = "measured", .bar = ">= 0.85"},
                        {.over = "measured", .under = "predicted", .bar = ">= 0.87"}},
             .min_iterations = kFound,
             .max_iterations = kFound});
}

void add_case(bench::Suite& suite, const NodePtr& node, const std::string& name,
              Operation operation, std::uint32_t percent) {
  const auto shared = std::make_shared<TableFixture>();
  const auto variant = [&](const std::string& which, bool predicted) {
    const auto work = on_worker(node, [=](Thread& self, bench::Batch& batch) {
      return run(self, batch, operation, percent, predicted, *shared);
    });
    return bench::Variant{.name = which, .measure = work, .assist = work};
  };
  suite.add({.name = "cost_" + name,
             .size = percent,
             .variants = {variant("predicted", true), variant("measured", false)},
             .ratios = {{.over = "predicted", .under = "measured", .bar = ">= 0.85"},
                        {.over = "measured", .under = "predicted", .bar = ">= 0.87"}},
             .min_iterations = kKeys,
             .max_iterations = kKeys});
}

}  // namespace

void add_cost_cases(bench::Suite& suite, const NodePtr& node) {
  for (const std::uint32_t percent : {25u, 50u, 75u}) {
    add_case(suite, node, "find", Operation::kFind, percent);
    add_case(suite, node, "insert", Operation::kInsert, percent);
    add_case(suite, node, "remove", Operation::kRemove, percent);
  }
  for (const std::uint32_t percent : {0u, 50u, 70u, 95u}) add_hit_case(suite, node, percent);
}

}  // namespace services_bench
