// SPDX-License-Identifier: MIT
// Changes that depend on the value, or on whether there is one, in every mode.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "dsfabric/support/fabric_job.hpp"
#include "hashtable/hashtable.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace hashtable;
using support::require;

namespace {

using Table = HashTable<std::uint64_t, std::uint64_t>;

/// What several workers have seen together.
struct Range {
  std::uint64_t least;
  std::uint64_t most;
  std::uint64_t count;
  friend bool operator==(const Range&, const Range&) = default;
};

constexpr Mode kModes[] = {Mode::kOneSided, Mode::kByCall, Mode::kCached};

Status count(Table& counts, std::uint64_t word) {
  for (;;) {
    Status status = counts.change(word, [](std::uint64_t before) { return before + 1; });
    if (status == Status::kMissing) status = counts.insert(word, 1);
    if (status != Status::kExists) return status;  // else another worker has just inserted it
  }
}

/// All workers count the same words: none has a key of its own, and nobody locks.
void count_words(dsfabric::Thread& self, Mode mode) {
  constexpr std::uint64_t kWords = 6;
  constexpr std::uint64_t kEach = 40;
  Table counts(self, {.mode = mode, .bytes = 1 << 20, .buckets = 1});
  for (std::uint64_t i = 0; i < kWords * kEach; ++i) {
    require(count(counts, i % kWords) == Status::kDone, "a count");
    // Other keys make buckets split, and be rebuilt, while all count.
    require(counts.insert(1000 + i * 2 + self.fabric().rank_of(self.id()), i) == Status::kDone,
            "an insert");
  }
  self.barrier();
  for (std::uint64_t word = 0; word < kWords; ++word) {
    require(counts.find(word) == kEach * self.fabric().total_threads(), "the count");
  }
  self.barrier();
}

/// What each operation answers, from one worker, for keys of all homes.
void answer_as_atomics(dsfabric::Thread& self, Mode mode) {
  Table table(self, {.mode = mode, .bytes = 1 << 20, .buckets = 1});
  const std::uint64_t rank = self.fabric().rank_of(self.id());
  for (std::uint64_t key = rank; key < 60; key += 2) {
    std::uint64_t expected = 3;
    require(table.compare_exchange(key, expected, 4) == Status::kMissing, "no such key");
    require(expected == 3 && !table.find(key), "nothing has changed");
    require(table.change(key, [](std::uint64_t) { return std::uint64_t{1}; }) == Status::kMissing,
            "no such key");
    require(table.insert_or_assign(key, key) == Status::kDone, "inserted");
    require(table.insert_or_assign(key, key + 1) == Status::kDone, "assigned");
    require(table.insert(key, 9) == Status::kExists, "it is there");
    expected = key;
    require(table.compare_exchange(key, expected, 70) == Status::kDiffers, "another value");
    require(expected == key + 1, "which it tells");
    require(table.find(key) == key + 1, "and keeps");
    require(table.compare_exchange(key, expected, 70) == Status::kDone, "the value");
    require(expected == key + 1 && table.find(key) == 70, "is exchanged");
    std::uint64_t before = 0;
    const Status added = table.change(key, [&](std::uint64_t value) {
      before = value;
      return value + 5;
    });
    require(added == Status::kDone && before == 70 && table.find(key) == 75, "fetch and add");
    bool thrown = false;
    try {
      (void)table.change(key, [](std::uint64_t) -> std::uint64_t { throw std::length_error(""); });
    } catch (const std::length_error&) {
      thrown = true;
    }
    require(thrown && table.find(key) == 75, "an exception changes nothing");
    require(table.remove(key) == Status::kDone, "a removal");
    require(table.compare_exchange(key, before, 4) == Status::kMissing, "a removed key");
    require(table.insert_or_assign(key, 8) == Status::kDone, "is inserted once more");
  }
  self.barrier();
  for (std::uint64_t key = 0; key < 60; ++key) require(table.find(key) == 8, "the value");
  self.barrier();
  require(table.detail().home().invariant(), "the directory is right");
}

}  // namespace

TEST_CASE("a_count_that_all_workers_share_needs_no_lock") {
  for (const Mode mode : kModes) {
    CAPTURE(static_cast<int>(mode));
    support::in_every_mode({.processes = 2, .threads = 1},
                           [mode](auto& self) { count_words(self, mode); });
  }
}

TEST_CASE("exchanges_and_assignments_answer_as_they_should") {
  for (const Mode mode : kModes) {
    CAPTURE(static_cast<int>(mode));
    support::in_every_mode({.processes = 2, .threads = 1},
                           [mode](auto& self) { answer_as_atomics(self, mode); });
  }
}

TEST_CASE("values_of_several_words_are_exchanged_as_a_whole") {
  support::in_every_mode({.processes = 2, .threads = 1}, [](dsfabric::Thread& self) {
    for (const Mode mode : {Mode::kOneSided, Mode::kByCall}) {
      HashTable<std::uint64_t, Range> ranges(self, {.mode = mode, .bytes = 1 << 20});
      HashTable<std::uint64_t, double> sums(self, {.mode = mode, .bytes = 1 << 20});
      constexpr std::uint64_t kEach = 60;
      const std::uint64_t rank = self.fabric().rank_of(self.id());
      if (rank == 0) {
        require(ranges.insert(1, {1000, 0, 0}) == Status::kDone, "an insert");
        require(sums.insert(1, 0.0) == Status::kDone, "an insert");
      }
      self.barrier();
      for (std::uint64_t i = 0; i < kEach; ++i) {
        const std::uint64_t mine = 100 + i * 2 + rank;
        const Status widened = ranges.change(1, [mine](const Range& range) {
          return Range{std::min(range.least, mine), std::max(range.most, mine), range.count + 1};
        });
        const Status added = sums.change(1, [](double sum) { return sum + 0.5; });
        require(widened == Status::kDone && added == Status::kDone, "a change");
      }
      self.barrier();
      require(ranges.find(1) == Range{100, 100 + 2 * kEach - 1, 2 * kEach}, "all of both");
      require(sums.find(1) == static_cast<double>(kEach), "the sum");
      self.barrier();
    }
  });
}

TEST_CASE("exchanges_of_wide_values_go_in_batches") {
  support::in_every_mode({.processes = 2, .threads = 1}, [](dsfabric::Thread& self) {
    // An odd number of them fits into a call, and an exchange takes two places.
    using Wide = std::array<std::uint64_t, 8>;
    using Wides = HashTable<std::uint64_t, Wide>;
    for (const Mode mode : {Mode::kOneSided, Mode::kByCall}) {
      Wides table(self, {.mode = mode, .bytes = 1 << 20});
      const std::uint64_t rank = self.fabric().rank_of(self.id());
      std::vector<Wides::Exchange> exchanges;
      for (std::uint64_t i = 0; i < 100; ++i) {
        const std::uint64_t key = 2 * i + rank;
        require(table.insert(key, Wide{i, 1, 2, 3, 4, 5, 6, i}) == Status::kDone, "an insert");
        exchanges.emplace_back(key, Wide{i, 1, 2, 3, 4, 5, 6, i % 3 == 0 ? i : 1000},
                               Wide{i, 0, 0, 0, 0, 0, 0, 7});
      }
      table.perform(exchanges);
      for (std::uint64_t i = 0; i < 100; ++i) {
        const bool same = i % 3 == 0;
        require(exchanges[i].status() == (same ? Status::kDone : Status::kDiffers), "the answer");
        const Wide left = same ? Wide{i, 0, 0, 0, 0, 0, 0, 7} : Wide{i, 1, 2, 3, 4, 5, 6, i};
        require(same || exchanges[i].value() == left, "the value that differs");
        require(table.find(2 * i + rank) == left, "what is left");
      }
      self.barrier();
    }
  });
}

TEST_CASE("assignments_go_in_batches_and_by_aggregated_calls") {
  support::in_every_mode({.processes = 2, .threads = 1}, [](dsfabric::Thread& self) {
    for (const Mode mode : kModes) {
      Table table(self, {.mode = mode, .bytes = 1 << 20, .buckets = 1});
      const std::uint64_t rank = self.fabric().rank_of(self.id());
      for (std::uint64_t round = 0; round < 2; ++round) {
        std::vector<Table::Item> items;
        for (std::uint64_t i = 0; i < 100; ++i) {
          items.emplace_back(Operation::kInsertOrAssign, 2 * i + rank, i + round);
        }
        table.perform(items);
        for (const Table::Item& item : items) {
          require(item.status() == Status::kDone, "assigned");
        }
      }
      Table::Pending pending = table.start(Operation::kInsertOrAssign, 1000 + rank, rank);
      table.flush();
      require(pending.get() == Status::kDone, "by a call");
      self.barrier();
      for (std::uint64_t key = 0; key < 200; ++key) {
        require(table.find(key) == key / 2 + 1, "the last value");
      }
      require(table.find(1001 - rank) == 1 - rank, "that of the call");
      self.barrier();
    }
  });
}

TEST_CASE("entries_of_variable_size_are_inserted_or_assigned") {
  support::in_every_mode({.processes = 2, .threads = 1}, [](dsfabric::Thread& self) {
    for (const Mode mode : {Mode::kOneSided, Mode::kByCall}) {
      HashTable<std::string, std::string> table(self, {.mode = mode, .bytes = 2 << 20});
      const std::string mine = "key of " + std::to_string(self.fabric().rank_of(self.id()));
      for (const std::string value : {"", "one", "a longer one than before"}) {
        require(table.insert_or_assign(mine, value) == Status::kDone, "assigned");
        require(table.find(mine) == value, "the value");
      }
      require(table.remove(mine) == Status::kDone, "a removal");
      require(table.insert_or_assign(mine, "new") == Status::kDone, "inserted once more");
      self.barrier();
      require(table.find("key of 0") == "new" && table.find("key of 1") == "new", "both");
      self.barrier();
    }
  });
}
