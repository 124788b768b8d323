// SPDX-License-Identifier: MIT
// Entries that lie in pieces: exchanges in batches, aggregated calls, and where keys live.
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hashtable/support/pieces.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace hashtable;
using support::in_every_way;
using support::Lists;
using support::require;
using support::Texts;

namespace {

void exchange_batches(dsfabric::Thread& self, Mode mode, bool collide) {
  constexpr std::uint64_t kKeys = 70;
  Texts table(self, {.mode = mode, .bytes = 4 << 20, .max_entry = 2000});
  if (collide) table.detail().collide();
  self.barrier();
  const auto key = [&](std::uint64_t i) {
    return std::to_string(i) + " of " + std::to_string(self.fabric().rank_of(self.id()));
  };
  const std::string large(1500, 'l');
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    if (i % 3 != 0) require(table.insert(key(i), "is") == Status::kDone, "an insert");
  }
  std::vector<Texts::Exchange> exchanges;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    // One begins with the other, and words are filled up with 0.
    const std::string other = i % 2 == 0 ? "i" : std::string("is\0", 3);
    exchanges.emplace_back(key(i), i % 3 == 1 ? "is" : other, i % 7 == 0 ? large : "becomes");
  }
  table.perform(exchanges);
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    const Texts::Exchange& each = exchanges[i];
    const auto value = table.find(key(i));
    if (i % 3 == 0) require(each.status() == Status::kMissing && !value, "no such key");
    if (i % 3 == 1) {
      require(each.status() == Status::kDone, "the value");
      require(value == (i % 7 == 0 ? large : "becomes"), "is exchanged");
    }
    if (i % 3 == 2) {
      require(each.status() == Status::kDiffers && each.value() == "is", "another one");
      require(value == "is", "which it keeps");
    }
  }
  self.barrier();
}

/// All workers append to the same lists, by batches of exchanges that each repeats until it is
/// done.
void append_together(dsfabric::Thread& self, Mode mode, bool collide) {
  constexpr std::uint64_t kRounds = 8;
  const std::array<std::string, 5> names{"a", "bc", "def", "g", "hi"};
  Lists lists(self, {.mode = mode, .bytes = 2 << 20, .max_entry = 1000});
  if (collide) lists.detail().collide();
  self.barrier();
  const std::uint64_t rank = self.fabric().rank_of(self.id());
  if (rank == 0) {
    for (const auto& name : names) require(lists.insert(name, {}) == Status::kDone, "an insert");
  }
  self.barrier();
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    std::map<std::string, std::vector<std::uint64_t>> open;
    for (const auto& name : names) open[name] = {};
    while (!open.empty()) {
      std::vector<Lists::Exchange> exchanges;
      for (const auto& [name, list] : open) {
        std::vector<std::uint64_t> longer = list;
        longer.push_back(2 * round + rank);
        exchanges.emplace_back(name, list, longer);
      }
      lists.perform(exchanges);
      std::map<std::string, std::vector<std::uint64_t>> again;
      std::size_t at = 0;
      for (const auto& [name, list] : open) {
        const Lists::Exchange& each = exchanges[at++];
        if (each.status() == Status::kDone) continue;
        require(each.status() == Status::kDiffers && each.value() != list, "another value");
        again[name] = each.value();
      }
      open = std::move(again);
    }
  }
  self.barrier();
  for (const auto& name : names) {
    const auto list = lists.find(name);
    std::array<std::uint64_t, 2> next{0, 1};
    require(list.has_value() && list->size() == 2 * kRounds, "all changes");
    for (const std::uint64_t each : *list) {
      require(each == next[each % 2], "each once, in the order of its worker");
      next[each % 2] += 2;
    }
  }
  self.barrier();
}

/// Short and long ones, which do not fit into a call or its answer.
void start_operations(dsfabric::Thread& self, Mode mode, bool collide) {
  constexpr std::size_t kKeys = 30;
  Texts table(self, {.mode = mode, .bytes = 4 << 20, .max_entry = 6000});
  if (collide) table.detail().collide();
  self.barrier();
  const std::string mine = std::to_string(self.fabric().rank_of(self.id())) + ".";
  const auto value_of = [](std::size_t i, char letter) {
    const std::size_t lengths[] = {0, 3, 1000, 2000, 5000};
    return std::string(lengths[i % 5], letter);
  };
  const auto all = [&](Operation operation, char letter, Status first, Status second) {
    std::vector<Texts::Pending> pending;
    for (std::size_t i = 0; i < kKeys; ++i) {
      const std::string key = mine + std::to_string(i);
      const bool finds = operation == Operation::kFind || operation == Operation::kRemove;
      pending.push_back(finds ? table.start(operation, key)
                              : table.start(operation, key, value_of(i, letter)));
    }
    table.flush();
    for (std::size_t i = 0; i < kKeys; ++i) {
      const Status status = pending[i].get();
      require(status == (i % 2 == 0 ? first : second), "the answer");
      if (operation == Operation::kFind && status == Status::kDone) {
        require(pending[i].value() == value_of(i, letter), "the value");
      }
    }
  };
  for (std::size_t i = 0; i < kKeys; i += 2) {
    require(table.insert(mine + std::to_string(i), value_of(i, 'a')) == Status::kDone, "an insert");
  }
  all(Operation::kFind, 'a', Status::kDone, Status::kMissing);
  all(Operation::kUpdate, 'b', Status::kDone, Status::kMissing);
  all(Operation::kFind, 'b', Status::kDone, Status::kMissing);
  all(Operation::kInsert, 'b', Status::kExists, Status::kDone);
  all(Operation::kFind, 'b', Status::kDone, Status::kDone);
  all(Operation::kInsertOrAssign, 'c', Status::kDone, Status::kDone);
  for (std::size_t i = 0; i < kKeys; ++i) {
    require(table.find(mine + std::to_string(i)) == value_of(i, 'c'), "the value");
  }
  all(Operation::kRemove, ' ', Status::kDone, Status::kDone);
  all(Operation::kFind, ' ', Status::kMissing, Status::kMissing);
  const std::string error = support::error_text(
      [&] { (void)table.start(Operation::kInsert, mine, std::string(6000, 'x')); });
  require(error.find("raise Options::max_entry") != std::string::npos, error.c_str());
  self.barrier();
}

}  // namespace

TEST_CASE("operations_on_entries_of_variable_size_go_by_aggregated_calls") {
  in_every_way(start_operations);
}

TEST_CASE("entries_of_variable_size_are_exchanged_in_batches") { in_every_way(exchange_batches); }

TEST_CASE("batches_of_exchanges_of_variable_size_lose_no_change_of_others") {
  in_every_way(append_together);
}

TEST_CASE("a_key_lives_at_the_worker_that_home_of_names") {
  support::in_every_mode({.processes = 2, .threads = 1}, [](dsfabric::Thread& self) {
    constexpr std::uint64_t kKeys = 40;
    Texts texts(self, {.bytes = 1 << 20, .max_entry = 100});
    HashTable<std::uint64_t, std::uint64_t> numbers(self, {.bytes = 1 << 20});
    std::uint64_t texts_here = 0;
    std::uint64_t numbers_here = 0;
    for (std::uint64_t key = 0; key < kKeys; ++key) {
      const std::string text = std::to_string(key);
      texts_here += texts.home_of(text) == self.id();
      numbers_here += numbers.home_of(key) == self.id();
      if (self.fabric().rank_of(self.id()) != 0) continue;
      require(texts.insert(text, text) == Status::kDone, "an insert");
      require(numbers.insert(key, key) == Status::kDone, "an insert");
    }
    self.barrier();
    require(texts.fill().entries == texts_here, "the texts of this worker");
    require(numbers.fill().entries == numbers_here, "the numbers of this worker");
    require(self.all_reduce(texts_here, std::plus<>()) == kKeys, "each has one home");
    require(self.all_reduce(numbers_here, std::plus<>()) == kKeys, "each has one home");
  });
}
