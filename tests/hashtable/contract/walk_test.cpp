// SPDX-License-Identifier: MIT
// Walks and growth while others write; batches; what start() has begun; values of several words.
#include <array>
#include <atomic>
#include <cstdint>
#include <set>
#include <vector>

#include "dsfabric/support/fabric_job.hpp"
#include "hashtable/hashtable.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace hashtable;
using support::require;

namespace {

using Table = HashTable<std::uint64_t, std::uint64_t>;
constexpr std::uint64_t kStay = 40;

/// Keys below kStay stay, while process 1 inserts and removes others, so that buckets are split and
/// rebuilt.
void walk(dsfabric::Thread& self, Mode mode) {
  Table table(self, {.mode = mode, .bytes = 1 << 20, .buckets = 2});
  if (self.id().process.value == 0) {
    for (std::uint64_t key = 0; key < kStay; ++key) {
      require(table.insert(key, key) == Status::kDone, "an insert");
    }
  }
  self.barrier();
  if (self.id().process.value == 1) {
    for (std::uint64_t round = 0; round < 3; ++round) {
      for (std::uint64_t key = 1000 * (round + 1); key < 1000 * (round + 1) + 60; ++key) {
        require(table.insert(key, key) == Status::kDone, "an insert");
      }
      for (std::uint64_t key = 1000 * (round + 1); key < 1000 * (round + 1) + 60; ++key) {
        require(table.remove(key) == Status::kDone, "a removal");
      }
    }
    require(table.insert(999, 999) == Status::kDone, "the last insert");
  } else {
    int walks = 0;
    for (bool last = false; !last; ++walks) {
      std::set<std::uint64_t> seen;
      last = table.find(999).has_value();
      table.for_each([&](std::uint64_t key, std::uint64_t value) {
        require(seen.insert(key).second, "no key twice");
        require(value == key, "its value");
      });
      for (std::uint64_t key = 0; key < kStay; ++key) require(seen.count(key) == 1, "no key lost");
      self.progress();
    }
    require(walks >= 1, "it walked");
  }
  self.barrier();
  require(table.detail().home().invariant(), "the directory is right");
  require(table.fill().depth > 1, "it has grown");
  self.barrier();
}

void batches(dsfabric::Thread& self, Mode mode) {
  Table table(self, {.mode = mode, .bytes = 1 << 20, .buckets = 16});
  const std::uint64_t base = 1000 * self.fabric().rank_of(self.id());
  std::vector<Table::Item> items;
  for (std::uint64_t key = base; key < base + 100; ++key) {
    items.emplace_back(Operation::kInsert, key, key + 5);
  }
  table.perform(items);
  for (const Table::Item& item : items) require(item.status() == Status::kDone, "an insert");
  items.clear();
  for (std::uint64_t key = base; key < base + 150; ++key) {
    items.emplace_back(key % 10 == 3 ? Operation::kRemove : Operation::kFind, key);
  }
  table.perform(items);
  for (std::uint64_t i = 0; i < 150; ++i) {
    require(items[i].status() == (i < 100 ? Status::kDone : Status::kMissing), "the answer");
    if (i < 100 && i % 10 != 3) require(items[i].value() == base + i + 5, "the value");
  }
  items.clear();
  for (std::uint64_t i = 0; i < 99; ++i) items.emplace_back(Operation::kUpdate, base + i % 3, i);
  table.perform(items);
  for (const Table::Item& item : items) {
    require(item.status() == Status::kDone, "one of many updates of a key");
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto value = table.find(base + i);
    require(value && *value < 99 && *value % 3 == i, "the value of one of them");
    require(table.update(base + i, base + i + 5) == Status::kDone, "an update");
  }
  std::vector<Table::Pending> pending;
  for (std::uint64_t i = 0; i < 50; ++i) {
    pending.push_back(table.start(Operation::kFind, base + i));
  }
  table.flush();
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Status status = pending[i].get();
    require(status == (i % 10 == 3 ? Status::kMissing : Status::kDone), "what was begun");
    if (status == Status::kDone) require(pending[i].value() == base + i + 5, "its value");
  }
  self.barrier();
}

}  // namespace

TEST_CASE("a_walk_loses_nothing_and_shows_nothing_twice_while_others_write") {
  support::in_every_mode({}, [](auto& self) { walk(self, Mode::kOneSided); });
  support::in_every_mode({}, [](auto& self) { walk(self, Mode::kByCall); });
}

TEST_CASE("batches_do_what_single_operations_do") {
  support::in_every_mode({}, [](auto& self) { batches(self, Mode::kOneSided); });
  support::in_every_mode({}, [](auto& self) { batches(self, Mode::kByCall); });
}

TEST_CASE("keys_and_values_of_several_words_are_compared_whole") {
  support::in_every_mode({}, [](dsfabric::Thread& self) {
    using Key = std::array<std::uint32_t, 5>;
    using Value = std::array<std::uint64_t, 8>;
    HashTable<Key, Value> table(self, {.bytes = 1 << 20, .buckets = 2});
    const std::uint32_t rank = self.fabric().rank_of(self.id());
    for (std::uint32_t i = 0; i < 30; ++i) {
      require(table.insert({1, 2, 3, rank, i}, {i, i, i, i, i, i, i, i}) == Status::kDone,
              "insert");
      require(table.update({1, 2, 3, rank, i}, {i, 1, 2, 3, 4, 5, 6, i}) == Status::kDone,
              "update");
    }
    self.barrier();
    for (std::uint32_t i = 0; i < 30; ++i) {
      require(table.find({1, 2, 3, 1 - rank, i}) == Value{i, 1, 2, 3, 4, 5, 6, i}, "found");
      require(!table.find({1, 2, 4, 1 - rank, i}), "another key");
    }
    self.barrier();
  });
}

TEST_CASE("two_workers_of_a_process_and_one_process_alone_have_tables_too") {
  support::in_every_mode({.processes = 2, .threads = 2}, [](dsfabric::Thread& self) {
    Table table(self, {.bytes = 1 << 20, .buckets = 2});
    const std::uint64_t rank = self.fabric().rank_of(self.id());
    for (std::uint64_t i = 0; i < 40; ++i) {
      require(table.insert(100 * rank + i, i) == Status::kDone, "an insert");
    }
    self.barrier();
    for (std::uint64_t i = 0; i < 160; ++i) {
      require(table.find(i % 4 * 100 + i / 4) == i / 4, "found");
    }
    self.barrier();
  });
  support::in_every_mode({.processes = 1}, [](dsfabric::Thread& self) {
    Table table(self, {.mode = Mode::kAutomatic, .bytes = 1 << 20, .buckets = 2});
    for (std::uint64_t i = 0; i < 40; ++i) require(table.insert(i, i) == Status::kDone, "insert");
    for (std::uint64_t i = 0; i < 40; ++i) require(table.find(i) == i, "find");
  });
}
