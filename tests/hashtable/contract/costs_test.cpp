// SPDX-License-Identifier: MIT
// What a job is measured to take, and what the cost model expects of a table from that.
#include <cstdint>
#include <limits>

#include "dsfabric/support/fabric_job.hpp"
#include "hashtable/hashtable.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace hashtable;
using support::require;

namespace {

using Table = HashTable<std::uint64_t, std::uint64_t>;

/// Whether finds in a table of so many keys should go one-sided.
bool finds_go_one_sided(dsfabric::Thread& self, std::uint64_t keys) {
  constexpr std::uint32_t kBuckets = 32;    // at each worker
  const cost::Costs costs = cost::measure(  // all workers call this
      self, {.block_bytes = Table::kBlockBytes,
             .entry_bytes = Table::kEntryBytes,
             .table_bytes = std::uint64_t{kBuckets} * Table::kBlockBytes,
             .rounds = 20});
  const std::uint32_t slots = kBuckets * Table::kBlockSlots * self.fabric().total_threads();
  const cost::Load load = cost::chaining(static_cast<double>(keys) / slots, Table::kBlockSlots);
  const double read = cost::expect(Operation::kFind, Mode::kOneSided, costs.all, 0, load);
  const double call = cost::expect(Operation::kFind, Mode::kByCall, costs.all, 0, load);
  return read < call;
}

}  // namespace

TEST_CASE("every_operation_that_leaves_the_process_is_measured") {
  support::in_every_mode({.processes = 2, .threads = 1}, [](dsfabric::Thread& self) {
    const cost::Costs costs = cost::measure(self, {.table_bytes = 4096, .rounds = 20});
    for (const cost::Basics& basics : {costs.alone, costs.all}) {
      for (const auto figure :
           {&cost::Basics::write, &cost::Basics::read_word, &cost::Basics::read,
            &cost::Basics::compare_and_swap, &cost::Basics::fetch_and_add, &cost::Basics::look,
            &cost::Basics::crowded, &cost::Basics::change, &cost::Basics::claim,
            &cost::Basics::taken, &cost::Basics::kept, &cost::Basics::missed, &cost::Basics::call,
            &cost::Basics::service, &cost::Basics::wake, &cost::Basics::block,
            &cost::Basics::block_asleep, &cost::Basics::lock}) {
        require(basics.*figure > 0, "a figure of an operation");
      }
      require(basics.block > basics.read, "a block that is made, and read");
    }
    (void)finds_go_one_sided(self, 300);
  });
}

TEST_CASE("the_load_of_a_table_that_chains_is_the_one_that_is_expected") {
  support::in_every_mode({.processes = 2, .threads = 1}, [](dsfabric::Thread& self) {
    constexpr std::uint32_t kBuckets = 256;
    constexpr double kTaken = 0.75;
    Table table(self, {.growth = Growth::kChain, .bytes = 1 << 20, .buckets = kBuckets});
    if (self.fabric().rank_of(self.id()) == 0) {
      const std::uint64_t keys = 2 * kBuckets * Table::kBlockSlots * 3 / 4;
      for (std::uint64_t key = 0; key < keys; ++key) {
        require(table.insert(key, key) == Status::kDone, "an insert");
      }
    }
    self.barrier();
    const cost::Load found = table.load();
    const cost::Load expected = cost::chaining(kTaken, Table::kBlockSlots);
    const auto near = [](double a, double b, double by) { return a > b - by && a < b + by; };
    require(near(found.factor, expected.factor, 0.06), "the slots that are taken");
    require(near(found.full, expected.full, 0.06), "the buckets that are full");
    require(near(found.chained, expected.chained, 0.04), "the keys behind the first block");
    require(near(found.further, expected.further, 0.09), "the blocks behind the first one");
    self.barrier();
  });
}

TEST_CASE("the_load_of_a_table_is_told_of_any_number_of_keys") {
  for (const double taken : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    const cost::Load none = cost::chaining(taken, Table::kBlockSlots);
    CHECK((none.factor == 0 && none.full == 0 && none.chained == 0 && none.further == 0));
  }
  CHECK(cost::chaining(1, 0).factor == 0);
  for (const double taken : {1e9, 1e300, std::numeric_limits<double>::infinity()}) {
    const cost::Load all = cost::chaining(taken, Table::kBlockSlots);
    CHECK((all.factor > 0.999 && all.factor < 1.001 && all.further > 1e4 && all.further < 1e9));
  }
}
