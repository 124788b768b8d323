// SPDX-License-Identifier: MIT
// Random operations of several processes on few keys, in a table that grows, with deaths: what
// everybody saw must be what one map could have answered.
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <type_traits>

#include "dsfabric/support/killed_job.hpp"
#include "hashtable/hashtable.hpp"
#include "hashtable/support/table_history.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace hashtable;
using support::Member;
using support::require;
using support::TableHistory;

namespace {

/// Entries in slots.
struct Slots {
  using Table = HashTable<std::uint64_t, std::uint64_t>;
  static std::uint64_t key(std::uint64_t number) { return number; }
  static std::uint64_t value(std::uint64_t number) { return number; }
  static std::uint64_t number(std::uint64_t value) { return value; }
};
/// Entries in pieces, of many sizes.
struct Pieces {
  using Table = HashTable<std::string, std::string>;
  static std::string key(std::uint64_t number) {
    return std::string(number % 40, 'k') + std::to_string(number);
  }
  static std::string value(std::uint64_t number) {
    return std::to_string(number) + std::string(number % 50, '.');
  }
  static std::uint64_t number(const std::string& value) { return std::stoull(value); }
};

constexpr std::uint64_t kKeys = 12;
constexpr std::uint32_t kProcesses = 3;

/// By itself, in a batch, or by an aggregated call. `seen` gets the value that differs.
template <class Table, class Key, class Value>
Status exchange(Table& table, const Key& key, Value& seen, const Value& desired,
                std::uint64_t form) {
  if (form == 0) return table.compare_exchange(key, seen, desired);
  Status status = Status::kAgain;
  Value value{};
  if (form == 1) {
    std::array exchanges{typename Table::Exchange(key, seen, desired)};
    table.perform(exchanges);
    status = exchanges[0].status();
    if (status == Status::kDiffers) value = exchanges[0].value();
  } else {
    auto pending = table.start_compare_exchange(key, seen, desired);
    table.flush();
    status = pending.get();
    if (status == Status::kDiffers) value = pending.value();
  }
  if (status == Status::kDiffers) seen = value;
  return status;
}

/// How operations are made: the mode of all, or each process in its own way.
enum class How { kOneSided, kByCall, kCached, kMixed };

/// `known`: what this process knows of the key; an update with it is a compare_exchange.
template <class Form>
bool record(TableHistory& history, std::uint32_t rank, typename Form::Table& table,
            Operation operation, std::uint64_t number, std::uint64_t value,
            std::optional<std::uint64_t>& known) {
  const auto key = Form::key(number);
  const std::optional<std::uint64_t> expected =
      operation == Operation::kUpdate ? known : std::nullopt;
  known = value;
  if (!history.begin(rank, operation, number, value, expected)) return false;
  Status status = Status::kAgain;
  switch (operation) {
    case Operation::kFind: {
      const auto found = table.find(key);
      status = found ? Status::kDone : Status::kMissing;
      known.reset();
      if (found) known = Form::number(*found);
      value = known.value_or(0);
      break;
    }
    case Operation::kInsert:
      status = table.insert(key, Form::value(value));
      break;
    case Operation::kUpdate:
      if (expected) {
        auto seen = Form::value(*expected);
        status = exchange(table, key, seen, Form::value(value), value / kProcesses % 3);
        if (status == Status::kDiffers) known = value = Form::number(seen);
      } else {
        status = table.update(key, Form::value(value));
      }
      break;
    case Operation::kRemove:
      known.reset();
      status = table.remove(key);
      break;
    case Operation::kInsertOrAssign:
      status = table.insert_or_assign(key, Form::value(value));
      break;
  }
  history.end(rank, status, value);
  return true;
}

/// Until `done`, or so many operations. What throws PeerFailed stays open in the history.
template <class Form>
void operate(TableHistory& history, Member& member, dsfabric::Thread& self,
             typename Form::Table& table, std::uint64_t operations, std::uint64_t seed) {
  support::Random random(seed * 7 + member.rank);
  std::array<std::optional<std::uint64_t>, kKeys> known;
  for (std::uint64_t i = 0; i < operations; ++i) {
    const std::uint64_t key = random.below(kKeys);
    const std::uint64_t value = (i + 1) * kProcesses + member.rank;
    const std::uint64_t kind = random.below(12);
    const Operation operation = kind < 4    ? Operation::kFind
                                : kind < 6  ? Operation::kInsert
                                : kind < 9  ? Operation::kUpdate
                                : kind < 11 ? Operation::kRemove
                                            : Operation::kInsertOrAssign;
    // Every fourth time it knows nothing, so both kinds of updates are made.
    if (random.below(4) == 0) known[key].reset();
    try {
      (void)record<Form>(history, member.rank, table, operation, key, value, known[key]);
      // Other keys make buckets split, and be rebuilt.
      if (random.below(4) == 0) {
        const std::uint64_t number = 1000 + random.below(300);
        const auto other = Form::key(number);
        if (table.insert(other, Form::value(number)) == Status::kExists) (void)table.remove(other);
      }
    } catch (const dsfabric::PeerFailed& failed) {
      require(failed.process().value == 2, "only the victim fails");
    }
    self.progress();
  }
}

void check(const TableHistory& history, std::uint32_t dead_home) {
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    if (detail::home_of(detail::hash_of(&key, 1), kProcesses) == dead_home) continue;
    CAPTURE(key);
    auto events = history.of_key(key);
    CHECK(support::Linearization(std::move(events)).exists());
  }
}

template <class Form = Slots>
void run(How how, const std::string& adversary, std::uint64_t operations, bool kill,
         std::uint64_t seed) {
  CAPTURE(static_cast<int>(how), adversary, kill, seed);
  setenv("CARIAMA_SHM_ADVERSARY", adversary.c_str(), 1);
  TableHistory& history = TableHistory::make();
  const auto work = [&, how, operations, kill, seed](Member& member, dsfabric::Thread& self) {
    const Mode mode = how == How::kByCall   ? Mode::kByCall
                      : how == How::kCached ? Mode::kCached
                                            : Mode::kOneSided;
    typename Form::Table table(self,
                               {.mode = mode, .bytes = 512 << 10, .buckets = 2, .max_entry = 1000});
    if constexpr (std::is_same_v<Form, Slots>) {
      for (const Operation operation : kOperations) {
        if (how == How::kMixed) table.detail().by_call(operation, member.rank == 1);
      }
    }
    support::meet(member, self);
    if (kill && member.rank == 2) {
      operate<Form>(history, member, self, table, operations / 4, seed);
      support::end_victim(member.memory);
      operate<Form>(history, member, self, table, 100'000'000, seed + 1);  // until it is killed
    }
    operate<Form>(history, member, self, table, operations, seed);
    if (kill) {
      support::serve_until(self, [&] { return self.fabric().failed({2}); });
      operate<Form>(history, member, self, table, operations / 4, seed + 2);
    }
    const std::uint32_t all = kill ? kProcesses - 1 : kProcesses;
    member.memory.words[1]++;
    support::serve_until(self, [&] { return member.memory.words[1] == all; });
    require(table.detail().home().invariant(), "the directory is right");
    member.memory.words[2]++;
    support::serve_until(self, [&] { return member.memory.words[2] == all; });
  };
  if (kill) {
    CHECK(support::run_and_kill(kProcesses, 2, work) == "2: signal 9\n");
  } else {
    support::ForkJob job(kProcesses, [&](Member& member) {
      dsfabric::Config config;
      config.threads = 1;
      dsfabric::Fabric fabric = member.join(config);
      fabric.run([&](dsfabric::Thread& self) { work(member, self); });
    });
    CHECK(job.wait(std::chrono::seconds(60)) == "");
  }
  unsetenv("CARIAMA_SHM_ADVERSARY");
  check(history, kill ? 2 : kProcesses);
  munmap(&history, sizeof history);
}

std::string adversary_of(std::uint64_t seed) {
  return "seed=" + std::to_string(1 + seed % 100'000);
}

}  // namespace

TEST_CASE("histories_of_a_growing_table_are_linearizable") {
  const std::uint64_t seed = support::test_seed();
  for (const How how : {How::kOneSided, How::kByCall, How::kCached, How::kMixed}) {
    run(how, "", 4000, false, seed);
  }
}

TEST_CASE("histories_under_the_adversary_are_linearizable") {
  const std::uint64_t seed = support::test_seed();
  for (const How how : {How::kOneSided, How::kByCall, How::kCached, How::kMixed}) {
    run(how, adversary_of(seed), 300, false, seed);
  }
}

TEST_CASE("histories_of_entries_of_variable_size_are_linearizable") {
  const std::uint64_t seed = support::test_seed();
  for (const How how : {How::kOneSided, How::kByCall}) {
    run<Pieces>(how, "", 2000, false, seed);
    run<Pieces>(how, adversary_of(seed), 150, false, seed);
  }
}

TEST_CASE("histories_with_a_death_are_linearizable_and_nobody_waits_for_ever") {
  const std::uint64_t seed = support::test_seed();
  for (std::uint64_t point = 0; point < 3; ++point) {
    run(How::kOneSided, "", 2000, true, seed + point);
    run(How::kMixed, "", 2000, true, seed + point);
    run(How::kOneSided, adversary_of(seed + point), 150, true, seed + point);
  }
}
