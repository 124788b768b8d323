// SPDX-License-Identifier: MIT
// What each operation answers, in every mode, from both processes.
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "dsfabric/support/fabric_job.hpp"
#include "hashtable/hashtable.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace hashtable;
using support::require;

namespace {

using Table = HashTable<std::uint64_t, std::uint64_t>;

void do_all_operations(dsfabric::Thread& self, Mode mode) {
  Table table(self, {.mode = mode, .bytes = 1 << 20, .buckets = 1});
  const std::uint64_t rank = self.fabric().rank_of(self.id());
  constexpr std::uint64_t kKeys = 24;
  const auto key = [&](std::uint64_t i) { return i * 2 + rank; };
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    require(!table.find(key(i)), "a key that nobody inserted");
    require(table.update(key(i), 1) == Status::kMissing, "an update of a missing key");
    require(table.remove(key(i)) == Status::kMissing, "a removal of a missing key");
    require(table.insert(key(i), i) == Status::kDone, "an insert");
    require(table.insert(key(i), 9) == Status::kExists, "a second insert");
    require(table.find(key(i)) == i, "the value");
  }
  self.barrier();
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    require(table.find(i * 2 + 1 - rank) == i, "a value of the other one");
  }
  self.barrier();
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    for (std::uint64_t round = 1; round <= 3; ++round) {
      require(table.update(key(i), i + round) == Status::kDone, "an update");
      require(table.find(key(i)) == i + round, "the new value");
    }
    if (i % 2 == 0) continue;
    require(table.remove(key(i)) == Status::kDone, "a removal");
    require(!table.find(key(i)), "a removed key");
    require(table.update(key(i), 1) == Status::kMissing, "an update of a removed key");
    if (i % 4 == 1) require(table.insert(key(i), 7) == Status::kDone, "an insert once more");
  }
  self.barrier();
  std::map<std::uint64_t, std::uint64_t> seen;
  table.for_each([&](std::uint64_t k, std::uint64_t value) {
    require(seen.emplace(k, value).second, "each key once");
  });
  require(seen.size() == 2 * kKeys * 3 / 4, "all keys");
  for (const auto& [k, value] : seen) {
    const std::uint64_t i = k / 2;
    require(value == (i % 2 == 0 ? i + 3 : 7), "its value");
  }
  require(table.detail().home().invariant(), "the directory is right");
  self.barrier();
}

}  // namespace

TEST_CASE("one_sided_operations_answer_as_they_should") {
  support::in_every_mode({.processes = 2, .threads = 1},
                         [](auto& self) { do_all_operations(self, Mode::kOneSided); });
}

TEST_CASE("operations_by_call_answer_as_they_should") {
  support::in_every_mode({.processes = 2, .threads = 1},
                         [](auto& self) { do_all_operations(self, Mode::kByCall); });
}

TEST_CASE("automatic_operations_answer_as_they_should") {
  support::in_every_mode({.processes = 2, .threads = 1},
                         [](auto& self) { do_all_operations(self, Mode::kAutomatic); });
}

TEST_CASE("automatic_operations_go_the_way_that_the_cost_model_finds_cheaper") {
  support::in_every_mode({.processes = 2, .threads = 1}, [](dsfabric::Thread& self) {
    Table table(self, {.mode = Mode::kAutomatic, .bytes = 1 << 20, .buckets = 64});
    const bool first = self.id().process.value == 0;
    using enum Operation;
    cost::Basics basics{.write = 100,
                        .read_word = 100,
                        .read = 100,
                        .compare_and_swap = 100,
                        .look = 100,
                        .change = 200,
                        .claim = 200,
                        .taken = 500};
    std::uint64_t value = 0;
    // A find is one read and an insert two operations; updates and removals are more.
    for (const double call : {1.0, 150.0, 1000.0, 1.0}) {
      basics.call = call;
      table.choose(basics);
      require(table.by_call(kFind) == (call < 100), "finds");
      for (const Operation operation : {kInsert, kUpdate, kRemove, kInsertOrAssign}) {
        require(table.by_call(operation) == (call < 200), "changes");
      }
      // The ways understand each other.
      for (std::uint64_t key = 0; key < 20 && first; ++key) {
        require(!table.find(key), "nothing is left");
        require(table.insert(key, value) == Status::kDone, "an insert");
        require(table.update(key, ++value) == Status::kDone, "an update");
      }
      self.barrier();
      for (std::uint64_t key = 0; key < 20; ++key) require(table.find(key).has_value(), "a find");
      self.barrier();
      for (std::uint64_t key = 0; key < 20 && first; ++key) {
        require(table.find(key) == value - 19 + key, "the value");
        require(table.remove(key) == Status::kDone, "a removal");
      }
      self.barrier();
    }
  });
}

TEST_CASE("cached_operations_answer_as_they_should") {
  support::in_every_mode({.processes = 2, .threads = 1},
                         [](auto& self) { do_all_operations(self, Mode::kCached); });
}

TEST_CASE("what_was_kept_is_found_again_until_it_changes") {
  support::in_every_mode({}, [](dsfabric::Thread& self) {
    Table table(self, {.mode = Mode::kCached, .bytes = 1 << 20, .buckets = 64, .cached = 1024});
    constexpr std::uint64_t kKeys = 40;
    const bool first = self.id().process.value == 0;
    for (std::uint64_t i = 0; i < kKeys && first; ++i) {
      require(table.insert(i, i) == Status::kDone, "an insert");
    }
    self.barrier();
    for (int round = 0; round < 2; ++round) {
      for (std::uint64_t i = 0; i < kKeys; ++i) require(table.find(i) == i, "the value");
    }
    const auto& cache = table.detail().cache();
    require(cache.hits > 0 && cache.hits < cache.looks, "the second round hits");
    self.barrier();
    for (std::uint64_t i = 0; i < kKeys && first; ++i) {
      const Status status = i % 2 == 0 ? table.update(i, i + 1) : table.remove(i);
      require(status == Status::kDone, "a change");
    }
    self.barrier();
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      require(table.find(i) == (i % 2 == 0 ? std::optional(i + 1) : std::nullopt), "the change");
    }
    self.barrier();
  });
}
