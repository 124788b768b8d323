// SPDX-License-Identifier: MIT
// Writers that die at each step, a home that dies, and a writer that wakes up after it was given
// up.
#include <cstdint>
#include <string>

#include "dsfabric/support/killed_job.hpp"
#include "hashtable/hashtable.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace hashtable;
using detail::SlotState;
using detail::SlotWord;
using support::Member;
using support::require;

namespace {

using Table = HashTable<std::uint64_t, std::uint64_t>;
constexpr detail::Shape kShape = detail::shape_of(1, 1);

/// A key whose home is that rank, of three.
std::uint64_t key_at(std::uint32_t rank, std::uint64_t from = 0) {
  while (detail::home_of(detail::hash_of(&from, 1), 3) != rank) ++from;
  return from;
}

/// The slot that a key has, or would get first, at another worker.
struct Slot {
  Slot(Table& table, std::uint64_t key, std::uint32_t home)
      : port(table.detail().port(home)),
        hash(detail::hash_of(&key, 1)),
        block(port.bucket_of(hash)),
        at(kShape.word_at(detail::first_slot(hash, kShape.slots))) {}
  SlotWord word() const { return {detail::load(port.read(block.index()) + at)}; }
  detail::RemotePort& port;
  std::uint64_t hash;
  detail::BucketWord block;
  std::uint32_t at;
};

/// The steps of an insert or an update, after which a writer can die.
enum class Step { kClaimed, kHalfInserted, kLocked, kHalfUpdated, kHalfRevived };

void begin_write(Table& table, std::uint64_t key, Step step, std::uint16_t me) {
  const Slot slot(table, key, 0);
  const auto fingerprint = detail::fingerprint_of(slot.hash);
  const auto swap = [&](SlotWord from, SlotWord to) {
    require(slot.port.swap(slot.block.index(), slot.at, from.raw, to.raw), "the claim");
  };
  if (step == Step::kClaimed || step == Step::kHalfInserted) {
    const std::uint32_t birth = slot.block.birth();
    swap(SlotWord::empty(birth), SlotWord::make(SlotState::kClaimed, fingerprint, me, birth, 0));
    if (step == Step::kClaimed) return;
    const SlotWord live = SlotWord::make(SlotState::kLive, fingerprint, me, birth + 1, 1);
    slot.port.write(slot.block.index(), slot.at, &live.raw, 1, 0);
    return;
  }
  const SlotWord seen = slot.word();
  SlotWord locked = SlotWord::make(seen.state(), fingerprint, me, seen.version(), seen.cell());
  locked.raw |= SlotWord::kLocked;
  swap(seen, locked);
  if (step == Step::kLocked) return;
  // The slot word has arrived, and nothing of the cell.
  const SlotWord live =
      SlotWord::make(SlotState::kLive, fingerprint, me, seen.version() + 1, 1 - seen.cell());
  slot.port.write(slot.block.index(), slot.at, &live.raw, 1, 0);
}

/// The operation that takes the slot from the dead writer.
enum class Next { kInsertOrUpdate, kAssignOrExchange };

Status take_slot(Table& table, std::uint64_t key, bool has, Next next) {
  if (next == Next::kInsertOrUpdate) return has ? table.update(key, 6) : table.insert(key, 6);
  std::uint64_t expected = 5;
  return has ? table.compare_exchange(key, expected, 6) : table.insert_or_assign(key, 6);
}

void survive_writer(Step step, Mode mode, Next next_operation = Next::kInsertOrUpdate) {
  const std::string ended =
      support::run_and_kill(3, 2, [=](Member& member, dsfabric::Thread& self) {
        Table table(self, {.mode = mode, .bytes = 1 << 20, .buckets = 2});
        const std::uint64_t key = key_at(0);
        const bool known = step != Step::kClaimed && step != Step::kHalfInserted;
        if (member.rank == 0 && known) {
          require(table.insert(key, 5) == Status::kDone, "an insert");
          if (step == Step::kHalfRevived) require(table.remove(key) == Status::kDone, "a removal");
        }
        self.barrier();
        if (member.rank == 2) {
          begin_write(table, key, step, 2);
          member.memory.words[0] = 1;
        }
        support::serve_until(self, [&] { return member.memory.words[0] == 1; });
        const bool has = step == Step::kLocked || step == Step::kHalfUpdated;
        // While the writer may still be about to write, nobody waits for it who only looks.
        require(table.find(key) == (has ? std::optional<std::uint64_t>(5) : std::nullopt),
                "what was there before");
        support::meet(member, self);
        if (member.rank == 2) {
          support::end_victim(member.memory);
          support::serve_nothing();
        }
        if (member.rank == 1) {
          require(take_slot(table, key, has, next_operation) == Status::kDone,
                  "the slot was taken from the dead writer");
          require(table.find(key) == 6, "the new value");
          // All other keys of that bucket work, and it can be split.
          for (std::uint64_t i = 0, next = key; i < 40; ++i) {
            next = key_at(0, next + 1);
            require(table.insert(next, i) == Status::kDone, "an insert");
            require(table.find(next) == i, "a find");
          }
          member.memory.words[1] = 1;
        }
        support::serve_until(self, [&] { return member.memory.words[1] == 1; });
        if (member.rank == 0) require(table.detail().home().invariant(), "the directory is right");
        member.memory.words[2]++;
        support::serve_until(self, [&] { return member.memory.words[2] == 2; });
      });
  CHECK(ended == "2: signal 9\n");
}

}  // namespace

TEST_CASE("a_writer_that_dies_at_any_step_blocks_nobody_and_loses_no_slot") {
  for (const Step step : {Step::kClaimed, Step::kHalfInserted, Step::kLocked, Step::kHalfUpdated,
                          Step::kHalfRevived}) {
    CAPTURE(static_cast<int>(step));
    survive_writer(step, Mode::kOneSided);
    survive_writer(step, Mode::kOneSided, Next::kAssignOrExchange);
  }
  survive_writer(Step::kClaimed, Mode::kByCall);
  survive_writer(Step::kHalfUpdated, Mode::kByCall);
  survive_writer(Step::kHalfUpdated, Mode::kByCall, Next::kAssignOrExchange);
}

TEST_CASE("a_home_that_dies_takes_only_its_part_along") {
  for (const Mode mode : {Mode::kOneSided, Mode::kByCall}) {
    const std::string ended =
        support::run_and_kill(3, 2, [mode](Member& member, dsfabric::Thread& self) {
          Table table(self, {.mode = mode, .bytes = 1 << 20, .buckets = 2});
          HashTable<std::string, std::string> texts(self, {.mode = mode, .bytes = 1 << 20});
          support::meet(member, self);
          if (member.rank == 2) {
            support::end_victim(member.memory);
            support::serve_nothing();
          }
          const std::uint64_t lost = key_at(2);
          const auto fails = [&](auto work) {
            std::uint16_t named = 9;
            // Until the death is noticed, one-sided operations find its memory there.
            support::serve_until(self, [&] {
              try {
                work();
                return false;
              } catch (const dsfabric::PeerFailed& failed) {
                named = failed.process().value;
                return true;
              }
            });
            require(named == 2, "the process that failed");
          };
          fails([&] { (void)table.insert(lost, 1); });
          fails([&] { (void)table.find(lost); });
          fails([&] { (void)table.update(lost, 1); });
          fails([&] { (void)table.remove(lost); });
          fails([&] { (void)table.insert_or_assign(lost, 1); });
          std::uint64_t expected = 0;
          fails([&] { (void)table.compare_exchange(lost, expected, 1); });
          fails([&] { (void)table.change(lost, [](std::uint64_t value) { return value + 1; }); });
          fails([&] { table.for_each([](std::uint64_t, std::uint64_t) {}); });
          fails([&] {
            std::vector<Table::Item> items(40, Table::Item(Operation::kFind, lost));
            table.perform(items);
          });
          fails([&] {
            for (int i = 0; i < 20; ++i) (void)texts.insert(std::to_string(i), "lost");
          });
          // Of a batch, the part that went to a home that lives has taken place.
          using Text = HashTable<std::string, std::string>::Item;
          const std::string mine = std::to_string(member.rank) + " of ";
          for (const Operation operation : {Operation::kInsertOrAssign, Operation::kFind}) {
            fails([&] {
              std::vector<Text> items;
              for (int i = 0; i < 20; ++i) {
                items.emplace_back(operation, mine + std::to_string(i), "batch");
              }
              texts.perform(items);
            });
          }
          int left = 0;
          for (int i = 0; i < 20; ++i) {
            try {
              const std::string key = mine + std::to_string(i);
              require(texts.insert_or_assign(key, "alone") == Status::kDone, "the rest goes on");
              require(texts.find(key) == "alone", "the rest goes on");
              ++left;
            } catch (const dsfabric::PeerFailed& failed) {
              require(failed.process().value == 2, "the process that failed");
            }
          }
          require(left > 0 && left < 20, "keys of all homes");
          const std::uint64_t base = 1000 * member.rank;
          for (std::uint64_t i = base; i < base + 60; ++i) {
            if (detail::home_of(detail::hash_of(&i, 1), 3) == 2) continue;
            require(table.insert(i, i) == Status::kDone, "the rest goes on");
            require(table.find(i) == i, "the rest goes on");
          }
          member.memory.words[1]++;
          support::serve_until(self, [&] { return member.memory.words[1] == 2; });
        });
    CHECK(ended == "2: signal 9\n");
  }
}

TEST_CASE("for_each_shows_what_is_left_before_it_throws_that_a_home_is_gone") {
  const std::string ended = support::run_and_kill(3, 1, [](Member& member, dsfabric::Thread& self) {
    constexpr std::uint64_t kKeys = 120;
    Table table(self, {.bytes = 1 << 20, .buckets = 2});
    HashTable<std::string, std::string> texts(self, {.bytes = 1 << 20, .buckets = 2});
    if (member.rank == 0) {
      for (std::uint64_t i = 0; i < kKeys; ++i) {
        require(table.insert(i, i) == Status::kDone, "an insert");
        require(texts.insert(std::to_string(i), "text") == Status::kDone, "an insert");
      }
    }
    self.barrier();
    member.memory.words[2] += texts.fill().entries;
    if (member.rank == 1) member.memory.words[3] = texts.fill().entries;
    support::meet(member, self);
    if (member.rank == 1) {
      support::end_victim(member.memory);
      support::serve_nothing();
    }
    std::uint64_t seen = 0;
    const auto throws = [&](const auto& show) {
      seen = 0;
      try {
        show();
      } catch (const dsfabric::PeerFailed& failed) {
        require(failed.process().value == 1, "the process that failed");
        return true;
      }
      return false;  // until the death is noticed, its memory is there
    };
    support::serve_until(self, [&] {
      return throws([&] {
        table.for_each([&](std::uint64_t key, std::uint64_t) {
          seen += detail::home_of(detail::hash_of(&key, 1), 3) != 1;
        });
      });
    });
    std::uint64_t left = 0;
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      left += detail::home_of(detail::hash_of(&i, 1), 3) != 1;
    }
    require(seen == left, "the entries of all other homes");
    require(throws([&] { texts.for_each([&](const auto&, const auto&) { ++seen; }); }),
            "it throws");
    require(seen == member.memory.words[2] - member.memory.words[3], "the same of variable size");
    member.memory.words[1]++;
    support::serve_until(self, [&] { return member.memory.words[1] == 2; });
  });
  CHECK(ended == "1: signal 9\n");
}

TEST_CASE("a_writer_that_wakes_after_its_slot_was_taken_writes_nothing") {
  support::ForkJob job(2, [](Member& member) {
    dsfabric::Config config;
    config.threads = 1;
    dsfabric::Fabric fabric = member.join(config);
    try {
      fabric.run([&](dsfabric::Thread& self) {
        Table table(self, {.bytes = 1 << 20, .buckets = 2});
        std::uint64_t key = 0;
        while (detail::home_of(detail::hash_of(&key, 1), 2) != 0) ++key;
        self.barrier();
        if (member.rank == 1) {
          const Slot slot(table, key, 0);
          begin_write(table, key, Step::kClaimed, 1);
          member.memory.words[0] = 1;
          support::serve_until(self, [&] { return member.memory.words[0] == 2; });
          detail::Request<1, 1> late{Operation::kInsert, 1, slot.hash, {key}, {66}};
          bool failed = false;
          try {
            detail::write_entry(slot.port, slot.block, detail::first_slot(slot.hash, kShape.slots),
                                late, slot.block.birth() + 1, 1, true);
          } catch (const dsfabric::PeerFailed&) {
            failed = true;
          }
          require(failed, "its connection was cut first");
          member.memory.words[0] = 3;
          return;
        }
        support::serve_until(self, [&] { return member.memory.words[0] == 1; });
        fabric.fail({1}, "the test gives it up");
        require(table.insert(key, 7) == Status::kDone, "the slot is free");
        member.memory.words[0] = 2;
        support::serve_until(self, [&] { return member.memory.words[0] == 3; });
        require(table.find(key) == 7, "nothing arrived late");
      });
    } catch (const dsfabric::PeerFailed&) {
      // The end of run() is a collective, which the failure breaks.
    }
  });
  CHECK(job.wait() == "");
}
