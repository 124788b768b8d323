// SPDX-License-Identifier: MIT
// Batches of operations on entries that lie in pieces.
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "hashtable/support/pieces.hpp"
#include "riutils/riutils.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace hashtable;
using support::in_every_way;
using support::Lists;
using support::require;
using support::Texts;

namespace {

/// What an operation answers, and what it does to the keys of this worker.
Status expect(std::map<std::string, std::string>& entries, Operation operation,
              const std::string& key, const std::string& value) {
  const bool has = entries.contains(key);
  if (operation == Operation::kInsert && has) return Status::kExists;
  if (operation != Operation::kInsert && operation != Operation::kInsertOrAssign && !has) {
    return Status::kMissing;
  }
  if (operation == Operation::kRemove) {
    entries.erase(key);
  } else if (operation != Operation::kFind) {
    entries[key] = value;
  }
  return Status::kDone;
}

/// Batches of all operations, with more than a call carries, and more than is read at once.
void perform_batches(dsfabric::Thread& self, Mode mode, bool collide) {
  constexpr int kBatches = 12;
  constexpr int kKeys = 80;
  constexpr std::size_t kLongest = 900;
  Texts table(self, {.mode = mode, .bytes = 4 << 20, .max_entry = 1000});
  if (collide) table.detail().collide();
  self.barrier();
  const std::uint32_t rank = self.fabric().rank_of(self.id());
  std::minstd_rand random(rank + 1);
  std::map<std::string, std::string> entries;
  for (int batch = 0; batch < kBatches; ++batch) {
    std::vector<Texts::Item> items;
    std::vector<Status> statuses;
    std::vector<std::optional<std::string>> found;
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = std::to_string(rank) + "." + std::to_string(i);
      const Operation operation = kOperations[random() % kOperations.size()];
      const std::string value(random() % 4 == 0 ? random() % kLongest : random() % 9, 'a' + i % 26);
      if (operation == Operation::kFind || operation == Operation::kRemove) {
        items.emplace_back(operation, key);
      } else {
        items.emplace_back(operation, key, value);
      }
      const bool finds = operation == Operation::kFind && entries.contains(key);
      found.push_back(finds ? std::optional(entries[key]) : std::nullopt);
      statuses.push_back(expect(entries, operation, key, value));
    }
    table.perform(items);
    for (int i = 0; i < kKeys; ++i) {
      require(items[i].status() == statuses[i], "the answer");
      if (found[i]) require(items[i].value() == *found[i], "the value of before");
      const std::string key = std::to_string(rank) + "." + std::to_string(i);
      require(table.find(key).has_value() == entries.contains(key), "what is left");
    }
    std::vector<Texts::Item> finds;
    for (const auto& [key, value] : entries) finds.emplace_back(Operation::kFind, key);
    table.perform(finds);
    std::size_t at = 0;
    for (const auto& [key, value] : entries) {
      require(finds[at].status() == Status::kDone && finds[at].value() == value, "the value");
      ++at;
    }
  }
  self.barrier();
}

/// One worker updates all keys in batches, and the other ones see each value whole, and none before
/// an older one: pieces are freed and used again between their looks at the slots and the pieces.
void find_what_changes(dsfabric::Thread& self, Mode mode, bool collide) {
  constexpr std::uint64_t kKeys = 40;
  constexpr std::uint64_t kRounds = 25;
  Lists lists(self, {.mode = mode, .bytes = 1 << 20, .max_entry = 2000});
  if (collide) lists.detail().collide();
  self.barrier();
  // `count` once, and then as often as the value is long.
  const auto value_of = [](std::uint64_t key, std::uint64_t count) {
    return std::vector<std::uint64_t>(1 + (count * 7 + key) % 30, count);
  };
  const auto write = [&](Operation operation, std::uint64_t count) {
    std::vector<Lists::Item> items;
    for (std::uint64_t key = 0; key < kKeys; ++key) {
      items.emplace_back(operation, std::to_string(key), value_of(key, count));
    }
    lists.perform(items);
    for (const auto& item : items) require(item.status() == Status::kDone, "a change");
  };
  const bool writes = self.fabric().rank_of(self.id()) == 0;
  if (writes) write(Operation::kInsert, 0);
  self.barrier();
  std::vector<std::uint64_t> seen(kKeys, 0);
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    if (writes) {
      write(Operation::kUpdate, round);
      continue;
    }
    std::vector<Lists::Item> items;
    for (std::uint64_t key = 0; key < kKeys; ++key) {
      items.emplace_back(Operation::kFind, std::to_string(key));
    }
    lists.perform(items);
    for (std::uint64_t key = 0; key < kKeys; ++key) {
      require(items[key].status() == Status::kDone, "a find");
      const std::vector<std::uint64_t> value = items[key].value();
      require(!value.empty() && value == value_of(key, value[0]), "one value, and whole");
      require(value[0] >= seen[key], "none before an older one");
      seen[key] = value[0];
    }
  }
  self.barrier();
}

}  // namespace

TEST_CASE("batches_of_finds_see_entries_of_variable_size_whole_while_they_change") {
  in_every_way(find_what_changes);
}

TEST_CASE("batches_of_entries_of_variable_size_answer_as_single_operations_do") {
  in_every_way(perform_batches);
}

TEST_CASE("a_batch_with_an_entry_that_is_too_large_does_nothing") {
  support::in_every_mode({.processes = 2, .threads = 1}, [](dsfabric::Thread& self) {
    Texts table(self, {.bytes = 1 << 20, .max_entry = 100});
    const std::string mine = std::to_string(self.fabric().rank_of(self.id()));
    require(table.insert(mine, "is") == Status::kDone, "an insert");
    std::vector<Texts::Item> items;
    for (int i = 0; i < 8; ++i) {
      items.emplace_back(Operation::kInsert, mine + std::to_string(i), "text");
    }
    items.emplace_back(Operation::kUpdate, mine, std::string(100, 'x'));
    const std::string error = support::error_text([&] { table.perform(items); });
    require(error.find("is larger than the largest, 100") != std::string::npos &&
                error.find("raise Options::max_entry") != std::string::npos,
            error.c_str());
    for (const auto& item : items) require(item.status() == Status::kAgain, "no answer");
    for (int i = 0; i < 8; ++i) require(!table.find(mine + std::to_string(i)), "no insert");
    require(table.find(mine) == "is", "the value");
    items.pop_back();
    table.perform(items);
    for (const auto& item : items) require(item.status() == Status::kDone, "without it");
    table.perform(std::span<Texts::Item>());
    self.barrier();
  });
}

TEST_CASE("fibers_of_one_worker_perform_batches_of_variable_size") {
  constexpr int kFibers = 8;
  constexpr int kKeys = 40;
  for (const Mode mode : {Mode::kOneSided, Mode::kByCall}) {
    support::in_every_mode({}, [mode](dsfabric::Thread& self) {
      const riutils::FiberPool pool(self);
      Texts table(self, {.mode = mode, .bytes = 1 << 20, .max_entry = 1 << 10});
      self.barrier();
      if (self.id().process.value == 0) {
        riutils::RDMAMessengerGlobal calls(self);
        std::vector<dsfabric::RemoteFuture<void>> all;
        for (int fiber = 0; fiber < kFibers; ++fiber) {
          const auto work = [fiber, its = &table] {
            // Their lengths differ, so that one record does not look like another one.
            const std::string mine(fiber, 'f');
            for (const Operation operation : {Operation::kInsert, Operation::kUpdate}) {
              std::vector<Texts::Item> items;
              for (int i = 0; i < kKeys; ++i) {
                items.emplace_back(operation, mine + "." + std::to_string(i), mine);
              }
              its->perform(items);
              for (const auto& item : items) require(item.status() == Status::kDone, "a change");
            }
            std::vector<Texts::Item> finds;
            for (int i = 0; i < kKeys; ++i) {
              finds.emplace_back(Operation::kFind, mine + "." + std::to_string(i));
            }
            its->perform(finds);
            for (const auto& item : finds) {
              require(item.status() == Status::kDone && item.value() == mine, "its own value");
            }
          };
          all.push_back(calls.call_return(self.id(), riutils::in_fiber(work)));
        }
        for (auto& each : all) each.get();
      }
      self.barrier();
    });
  }
}
