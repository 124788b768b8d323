// SPDX-License-Identifier: MIT
// Predicted beside measured, as figure 4 of the paper: find, insert and remove at several loads.
#include <algorithm>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "bench/harness/core_wait.hpp"
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
/// Keys that are found, inserted and removed, after as many of kWarm that are not measured, and
/// kLooks finds of others: the model is of a worker that has done such work for a while.
constexpr std::size_t kKeys = 400;
constexpr std::size_t kWarm = 300;
constexpr std::size_t kLooks = 1500;
/// Keys that are found in Mode::kCached.
constexpr std::size_t kFound = 400;
/// Entries that are kept then: so many that keys hardly ever take each other's place.
constexpr std::uint32_t kKept = 1 << 13;
constexpr hashtable::cost::Subject kSubject{.block_bytes = Table::kBlockBytes,
                                            .entry_bytes = Table::kEntryBytes,
                                            .table_bytes = kBuckets * Table::kBlockBytes,
                                            .kept = kFound,
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

/// How long threads may have waited for a core while it was measured: less than the time slice of
/// another program, and more than all wakings together.
constexpr std::uint64_t kWaitedNs = 500'000;
/// So often is it tried again.
constexpr int kTries = 8;

/// What process 0 has measured; in process 1 nothing. `disturbed`: another program ran between.
struct Measured {
  double ns = 0;
  bool disturbed = false;
};

/// The first figure of `measure`, a collective, between whose preparation and end no other program
/// had the core: it takes the caches with it, which the model cannot know, and a service thread
/// waits for its time slice to end.
template <class Measure>
double undisturbed(Thread& self, const bench::Batch& batch, Measure measure) {
  for (int tries = 1;; ++tries) {
    const Measured mine = measure();
    bool again = false;
    for (const std::uint8_t disturbed : self.all_gather(std::uint8_t{mine.disturbed})) {
      again |= disturbed != 0;
    }
    if (!again || tries == kTries || batch.smoke()) return mine.ns;
  }
}

/// Takes the lines of the table, then gives the nanoseconds of `work`, which is timed in `batch`.
template <class Prepare, class Work>
Measured measure_there(Thread& self, bench::Batch& batch, Table& table, Prepare prepare,
                       Work work) {
  std::this_thread::yield();  // so that a time slice begins here, and need not end amid the work
  const std::uint64_t waited = bench::core_wait_ns();
  own_lines(self, table);
  prepare();
  const double ns = batch.time_ns(work);
  return {ns, bench::core_wait_ns() - waited > kWaitedNs};
}

/// Process 1 meanwhile: its service thread makes room.
Measured serve_there(Thread& self) {
  const std::uint64_t waited = bench::core_wait_of_others_ns();
  self.barrier();
  return {0, bench::core_wait_of_others_ns() - waited > kWaitedNs};
}

/// A table of the other process that is `percent` full, then process 0 does all of kKeys. The
/// figure is the measured latency, or that which the model predicts for this table and job.
Measured run(Thread& self, bench::Batch& batch, Operation operation, std::uint32_t percent,
             bool predicted, TableFixture& shared) {
  shared.make(self, {.growth = hashtable::Growth::kChain, .bytes = 3 << 20, .buckets = kBuckets});
  Table& table = *shared.table;
  const hashtable::cost::Costs costs =
      predicted ? hashtable::cost::measure(self, kSubject) : hashtable::cost::Costs{};
  std::vector<std::uint64_t> keys = keys_of(1, 2, kSlots * percent / 100);
  // Other keys in each round: how many of so few find a slot or a bucket taken is chance.
  const std::uint64_t round = ++shared.rounds;
  std::vector<std::uint64_t> fresh = keys_of(1, 2, kWarm + kKeys, round << 32);
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
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(round));
  const std::vector<std::uint64_t>& used = operation == Operation::kInsert ? fresh : keys;
  const auto all_of = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      require(once(table, operation, used[i]), "an operation on the table");
  };
  const auto loads = self.all_gather(table.load());
  Measured measured;
  if (predicted) {
    measured.ns = hashtable::cost::expect(operation, Mode::kOneSided, costs.alone, 0, loads[1]);
  } else if (table.detail().rank() == 0) {
    const auto prepare = [&] {
      for (const std::uint64_t key : std::span(keys).last(kLooks))
        require(table.find(key) == key, "a find");
      all_of(0, kWarm);
    };
    measured = measure_there(self, batch, table, prepare, [&] { all_of(kWarm, kWarm + kKeys); });
    measured.ns /= kKeys;
    self.barrier();
  } else {
    measured = serve_there(self);
  }
  shared.end(self);
  return measured;
}

/// Finds in Mode::kCached of which `percent` are of keys that were found before.
Measured find_cached(Thread& self, bench::Batch& batch, std::uint32_t percent, bool predicted,
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
  const std::vector<std::uint64_t> rest(keys.begin() + kFound, keys.end());
  keys.resize(kFound);
  const std::vector<std::uint64_t> before(keys.begin(), keys.begin() + kFound * percent / 100);
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(percent));
  const auto find = [&](const std::vector<std::uint64_t>& all) {
    for (const std::uint64_t key : all) require(table.find(key) == key, "a find");
  };
  const auto loads = self.all_gather(table.load());
  Measured measured;
  if (predicted) {
    measured.ns = hashtable::cost::expect(Operation::kFind, Mode::kCached, costs.alone,
                                          percent / 100.0, loads[1]);
  } else if (table.detail().rank() == 0) {
    // What has been kept for long, and then what is found again.
    const auto prepare = [&] {
      find(rest);
      find(before);
    };
    measured = measure_there(self, batch, table, prepare, [&] { find(keys); });
    measured.ns /= kFound;
    self.barrier();
  } else {
    measured = serve_there(self);
  }
  shared.end(self);
  return measured;
}

void add_hit_case(bench::Suite& suite, const NodePtr& node, std::uint32_t percent) {
  const auto shared = std::make_shared<TableFixture>();
  const auto variant = [&](const std::string& which, bool predicted) {
    const auto work = on_worker(node, [=](Thread& self, bench::Batch& batch) {
      return undisturbed(self, batch,
                         [&] { return find_cached(self, batch, percent, predicted, *shared); });
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
      return undisturbed(self, batch,
                         [&] { return run(self, batch, operation, percent, predicted, *shared); });
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
