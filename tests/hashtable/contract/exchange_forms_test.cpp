// SPDX-License-Identifier: MIT
// compare_exchange in batches, by aggregated calls, and of entries that lie in pieces.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dsfabric/support/fabric_job.hpp"
#include "hashtable/hashtable.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace hashtable;
using support::require;

namespace {

using Table = HashTable<std::uint64_t, std::uint64_t>;
using Texts = HashTable<std::string, std::string>;

constexpr Mode kBatchModes[] = {Mode::kOneSided, Mode::kByCall, Mode::kCached};

struct Padded {
  std::uint8_t first;
  std::uint64_t second;
};
static_assert(ComparedAsPacked<std::string> && ComparedAsPacked<std::vector<double>> &&
              ComparedAsPacked<std::pair<std::uint8_t, std::optional<std::uint64_t>>> &&
              ComparedAsPacked<std::tuple<std::vector<std::string>, std::array<float, 2>>>);
static_assert(!ComparedAsPacked<Padded> && !ComparedAsPacked<std::vector<Padded>> &&
              !ComparedAsPacked<std::pair<std::string, Padded>>);

/// What a batch of exchanges answers, and what it leaves.
void exchange_in_batches(dsfabric::Thread& self, Mode mode) {
  constexpr std::uint64_t kKeys = 100;  // more than one call carries
  Table table(self, {.mode = mode, .bytes = 1 << 20, .buckets = 1});
  const std::uint64_t rank = self.fabric().rank_of(self.id());
  const auto key = [&](std::uint64_t i) { return 2 * i + rank; };
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    if (i % 3 != 0) require(table.insert(key(i), i) == Status::kDone, "an insert");
  }
  std::vector<Table::Exchange> exchanges;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    exchanges.emplace_back(key(i), i % 3 == 1 ? i : i + 1000, i + 500);
  }
  table.perform(exchanges);
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    const Table::Exchange& each = exchanges[i];
    if (i % 3 == 0) require(each.status() == Status::kMissing, "no such key");
    if (i % 3 == 1) require(each.status() == Status::kDone, "the value");
    if (i % 3 == 2) require(each.status() == Status::kDiffers && each.value() == i, "another one");
  }
  self.barrier();
  for (std::uint64_t k = 0; k < 2 * kKeys; ++k) {
    const std::uint64_t i = k / 2;
    const auto value = table.find(k);
    require(i % 3 == 0 ? !value : value == (i % 3 == 1 ? i + 500 : i), "what is left");
  }
  self.barrier();
  // Other batches between go by the same calls.
  std::vector<Table::Item> finds;
  for (std::uint64_t i = 0; i < kKeys; ++i) finds.emplace_back(Operation::kFind, key(i));
  table.perform(finds);
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    require(finds[i].status() == (i % 3 == 0 ? Status::kMissing : Status::kDone), "a find");
  }
  self.barrier();
}

/// All workers add to the same counts, by batches of exchanges that each repeats until it is done.
void count_in_batches(dsfabric::Thread& self, Mode mode) {
  constexpr std::uint64_t kCounts = 40;
  constexpr std::uint64_t kRounds = 10;
  Table counts(self, {.mode = mode, .bytes = 1 << 20, .buckets = 1});
  if (self.fabric().rank_of(self.id()) == 0) {
    for (std::uint64_t i = 0; i < kCounts; ++i) {
      require(counts.insert(i, 0) == Status::kDone, "an insert");
    }
  }
  self.barrier();
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    std::map<std::uint64_t, std::uint64_t> open;
    for (std::uint64_t i = 0; i < kCounts; ++i) open[i] = 0;
    while (!open.empty()) {
      std::vector<Table::Exchange> exchanges;
      for (const auto& [key, value] : open) exchanges.emplace_back(key, value, value + 1);
      counts.perform(exchanges);
      std::map<std::uint64_t, std::uint64_t> again;
      std::size_t at = 0;
      for (const auto& [key, value] : open) {
        const Table::Exchange& each = exchanges[at++];
        if (each.status() == Status::kDone) continue;
        require(each.status() == Status::kDiffers && each.value() != value, "another value");
        again[key] = each.value();
      }
      open = std::move(again);
    }
  }
  self.barrier();
  for (std::uint64_t i = 0; i < kCounts; ++i) {
    require(counts.find(i) == kRounds * self.fabric().total_threads(), "the count");
  }
  self.barrier();
}

void exchange_by_aggregated_calls(dsfabric::Thread& self, Mode mode) {
  constexpr std::uint64_t kKeys = 30;
  Table table(self, {.mode = mode, .bytes = 1 << 20, .buckets = 1});
  const std::uint64_t rank = self.fabric().rank_of(self.id());
  const auto key = [&](std::uint64_t i) { return 2 * i + rank; };
  for (std::uint64_t i = 1; i < kKeys; ++i) {
    require(table.insert(key(i), i) == Status::kDone, "an insert");
  }
  std::vector<Table::Pending> pending;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    pending.push_back(table.start_compare_exchange(key(i), i % 2 == 0 ? i : 99, i + 500));
  }
  table.flush();
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    const Status status = pending[i].get();
    if (i == 0) {
      require(status == Status::kMissing, "no such key");
    } else if (i % 2 == 0) {
      require(status == Status::kDone && table.find(key(i)) == i + 500, "the value");
    } else {
      require(status == Status::kDiffers && pending[i].value() == i, "another one");
      require(table.find(key(i)) == i, "which it keeps");
    }
  }
  self.barrier();
}

/// Whatever travels with the calls, and what does not fit into one.
void exchange_texts_by_aggregated_calls(dsfabric::Thread& self, Mode mode, bool collide) {
  Texts table(self, {.mode = mode, .bytes = 4 << 20});
  if (collide) table.detail().collide();
  self.barrier();
  const std::string mine = "key of " + std::to_string(self.fabric().rank_of(self.id())) + ", ";
  const std::size_t sizes[] = {0, 1, 7, 8, 300, 1000, 1024, 3000, 6000};
  const auto key = [&](std::size_t was, std::size_t is) {
    return mine + std::to_string(was) + " " + std::to_string(is);
  };
  std::vector<std::pair<std::string, Texts::Pending>> pending;
  const auto begin = [&](const std::string& of, std::size_t expected, std::size_t desired) {
    pending.emplace_back(of, table.start_compare_exchange(of, std::string(expected, 'o'),
                                                          std::string(desired, 'n')));
  };
  for (const std::size_t was : sizes) {
    for (const std::size_t is : sizes) {
      begin(key(was, is), was, is);
    }
  }
  table.flush();
  for (auto& [of, each] : pending) require(each.get() == Status::kMissing, "no such key");
  pending.clear();
  for (const std::size_t was : sizes) {
    for (const std::size_t is : sizes) {
      require(table.insert(key(was, is), std::string(was, 'o')) == Status::kDone, "an insert");
      begin(key(was, is), was + 1, is);
      begin(key(was, is), was, is);
    }
  }
  table.flush();
  for (std::size_t i = 0; i < pending.size(); i += 2) {
    auto& [of, differs] = pending[i];
    const std::size_t was = sizes[i / 2 / std::size(sizes)];
    const std::size_t is = sizes[i / 2 % std::size(sizes)];
    require(differs.get() == Status::kDiffers, "another value");
    // What is done in get() comes behind the other one.
    const bool late = differs.value() == std::string(is, 'n');
    require(late || differs.value() == std::string(was, 'o'), "which it tells");
    require(pending[i + 1].second.get() == Status::kDone, "the value");
    require(table.find(of) == std::string(is, 'n'), "is exchanged");
  }
  bool refused = false;
  try {
    (void)table.start_compare_exchange(mine, "", std::string(10 << 20, 'n'));
  } catch (const dtutils::Error&) {
    refused = true;
  }
  require(refused, "a value that is larger than the largest");
  self.barrier();
}

void exchange_texts(dsfabric::Thread& self, Mode mode, bool collide) {
  Texts table(self, {.mode = mode, .bytes = 2 << 20});
  if (collide) table.detail().collide();
  self.barrier();
  const std::string mine = "key of " + std::to_string(self.fabric().rank_of(self.id()));
  for (const std::string& name : {mine, mine + " with a longer name"}) {
    std::string expected = "before";
    require(table.compare_exchange(name, expected, "x") == Status::kMissing, "no such key");
    require(expected == "before" && !table.find(name), "nothing has changed");
    const auto never = [](const std::string& text) { return text; };
    require(table.change(name, never) == Status::kMissing, "no such key");
    require(table.insert(name, "one") == Status::kDone, "an insert");
    // One begins with the other, and words are filled up with 0.
    for (const std::string& other : {std::string("on"), std::string("one\0", 4), std::string()}) {
      expected = other;
      require(table.compare_exchange(name, expected, "x") == Status::kDiffers, "another value");
      require(expected == "one" && table.find(name) == "one", "which it tells and keeps");
    }
    const std::string large(3000, 'l');
    require(table.compare_exchange(name, expected, large) == Status::kDone, "the value");
    require(expected == "one" && table.find(name) == large, "is exchanged");
    require(table.change(name, [](const std::string& text) { return text.substr(2999) + "!"; }) ==
                Status::kDone,
            "a change");
    require(table.find(name) == "l!", "by what was there");
    bool thrown = false;
    try {
      (void)table.change(name,
                         [](const std::string&) -> std::string { throw std::length_error(""); });
    } catch (const std::length_error&) {
      thrown = true;
    }
    require(thrown && table.find(name) == "l!", "an exception changes nothing");
    // f may use the table, as the change of another worker would. Keys with one hash share a piece,
    // so that the changes of the other worker here may have it called more often.
    int calls = 0;
    const Status status = table.change(name, [&](const std::string& text) {
      if (++calls == 1) require(table.update(name, "other") == Status::kDone, "an update");
      return text + "?";
    });
    require(status == Status::kDone && (calls == 2 || (collide && calls > 2)),
            "it is called again");
    require(table.find(name) == "other?", "with the new value");
    require(table.remove(name) == Status::kDone, "a removal");
    require(table.compare_exchange(name, expected, "x") == Status::kMissing, "a removed key");
  }
  self.barrier();
}

/// All workers write into the same texts; each letter is there once for each of their changes.
void write_texts_together(dsfabric::Thread& self, Mode mode, bool collide) {
  constexpr std::uint64_t kEach = 20;
  HashTable<std::string, std::vector<std::uint64_t>> lists(self, {.mode = mode, .bytes = 2 << 20});
  if (collide) lists.detail().collide();
  const std::uint64_t rank = self.fabric().rank_of(self.id());
  self.barrier();
  const std::string names[] = {"a", "another"};
  if (rank == 0) {
    for (const auto& name : names) require(lists.insert(name, {}) == Status::kDone, "an insert");
  }
  self.barrier();
  for (std::uint64_t i = 0; i < kEach; ++i) {
    for (const auto& name : names) {
      const Status status = lists.change(name, [&](std::vector<std::uint64_t> list) {
        list.push_back(2 * i + rank);
        return list;
      });
      require(status == Status::kDone, "a change");
    }
  }
  self.barrier();
  for (const auto& name : names) {
    const auto list = lists.find(name);
    std::array<std::uint64_t, 2> next{0, 1};
    require(list.has_value() && list->size() == 2 * kEach, "all changes");
    for (const std::uint64_t each : *list) {
      require(each == next[each % 2], "each once, in the order of its worker");
      next[each % 2] += 2;
    }
  }
  self.barrier();
}

}  // namespace

TEST_CASE("exchanges_go_in_batches") {
  for (const Mode mode : kBatchModes) {
    CAPTURE(static_cast<int>(mode));
    support::in_every_mode({.processes = 2, .threads = 1},
                           [mode](auto& self) { exchange_in_batches(self, mode); });
  }
}

TEST_CASE("batches_of_exchanges_lose_no_change_of_others") {
  for (const Mode mode : kBatchModes) {
    CAPTURE(static_cast<int>(mode));
    support::in_every_mode({.processes = 2, .threads = 1},
                           [mode](auto& self) { count_in_batches(self, mode); });
  }
}

TEST_CASE("exchanges_go_by_aggregated_calls") {
  for (const Mode mode : {Mode::kOneSided, Mode::kByCall}) {
    CAPTURE(static_cast<int>(mode));
    support::in_every_mode({.processes = 2, .threads = 1},
                           [mode](auto& self) { exchange_by_aggregated_calls(self, mode); });
  }
}

TEST_CASE("entries_of_variable_size_are_exchanged_by_aggregated_calls") {
  for (const Mode mode : {Mode::kOneSided, Mode::kByCall}) {
    for (const bool collide : {false, true}) {
      CAPTURE(static_cast<int>(mode), collide);
      support::in_every_mode({.processes = 2, .threads = 1}, [mode, collide](auto& self) {
        exchange_texts_by_aggregated_calls(self, mode, collide);
      });
    }
  }
}

TEST_CASE("entries_of_variable_size_are_exchanged_and_changed") {
  for (const Mode mode : {Mode::kOneSided, Mode::kByCall}) {
    for (const bool collide : {false, true}) {
      CAPTURE(static_cast<int>(mode), collide);
      support::in_every_mode({.processes = 2, .threads = 1},
                             [mode, collide](auto& self) { exchange_texts(self, mode, collide); });
    }
  }
}

TEST_CASE("entries_of_variable_size_lose_no_change_of_others") {
  for (const Mode mode : {Mode::kOneSided, Mode::kByCall}) {
    for (const bool collide : {false, true}) {
      CAPTURE(static_cast<int>(mode), collide);
      support::in_every_mode({.processes = 2, .threads = 1}, [mode, collide](auto& self) {
        write_texts_together(self, mode, collide);
      });
    }
  }
}
