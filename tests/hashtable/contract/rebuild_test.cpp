// SPDX-License-Identifier: MIT
// Buckets that are rebuilt and split: what becomes of writers, of those who know the old ones, and
// of the memory.
#include <cstdint>
#include <set>

#include "dsfabric/support/fabric_job.hpp"
#include "hashtable/hashtable.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace hashtable;
using detail::SlotState;
using detail::SlotWord;
using support::require;

namespace {

using Table = HashTable<std::uint64_t, std::uint64_t>;
using WriteAsked = detail::Request<1, 1>;
constexpr detail::Shape kRebuiltShape = detail::shape_of(1, 1);

std::uint64_t hash_of_key(std::uint64_t key) { return detail::hash_of(&key, 1); }

/// The next key whose home is worker 0 of two.
std::uint64_t key_of_first(std::uint64_t from) {
  while (detail::home_of(hash_of_key(from), 2) != 0) ++from;
  return from;
}

/// What worker 1 has done of an insert, or an update, of a key of worker 0.
enum class Begun { kClaimed, kLocked };

/// Worker 0 asks for room in a bucket while worker 1 is in the middle of a write there.
void rebuild_beside_a_writer(dsfabric::Thread& self, Begun begun) {
  Table table(self, {.bytes = 1 << 20, .buckets = 2});
  detail::Home& home = table.detail().home();
  const bool first = self.fabric().rank_of(self.id()) == 0;
  const std::uint64_t key = key_of_first(0);
  const std::uint64_t hash = hash_of_key(key);
  const std::uint32_t slot = detail::first_slot(hash, kRebuiltShape.slots);
  if (first && begun == Begun::kLocked) {
    require(table.insert(key, 5) == Status::kDone, "an insert");
  }
  self.barrier();
  detail::BucketWord bucket{};
  WriteAsked asked{Operation::kInsert, 1, hash, {key}, {6}};
  SlotWord before{};
  if (!first) {
    detail::RemotePort& port = table.detail().port(0);
    bucket = port.bucket_of(hash);
    const auto fingerprint = detail::fingerprint_of(hash);
    before = {port.read_word(bucket.index(), kRebuiltShape.word_at(slot))};
    SlotWord held = SlotWord::make(SlotState::kClaimed, fingerprint, 1, bucket.birth(), 0);
    if (begun == Begun::kLocked) {
      held = SlotWord::make(before.state(), fingerprint, 1, before.version(), before.cell());
      held.raw |= SlotWord::kLocked;
    }
    require(port.swap(bucket.index(), kRebuiltShape.word_at(slot), before.raw, held.raw),
            "the slot");
  }
  self.barrier();
  std::set<std::uint64_t> others;
  if (first) {
    bucket = home.bucket_of(hash);
    // All other slots of the bucket, so that there is reason to make room.
    for (std::uint64_t next = key; others.size() < kRebuiltShape.slots - 1;) {
      next = key_of_first(next + 1);
      if (home.bucket_of(hash_of_key(next)) != bucket) continue;
      if (detail::fingerprint_of(hash_of_key(next)) == detail::fingerprint_of(hash)) continue;
      require(table.insert(next, next) == Status::kDone, "an insert");
      others.insert(next);
    }
    require(home.make_room(hash, bucket) == detail::Room::kBusy, "it waits for the writer");
    require(home.bucket_of(hash) == bucket, "the bucket stays");
    require(table.find(key) ==
                (begun == Begun::kLocked ? std::optional<std::uint64_t>(5) : std::nullopt),
            "the value before");
  }
  self.barrier();
  if (!first) {
    const bool claimed = begun == Begun::kClaimed;
    detail::write_entry(table.detail().port(0), bucket, slot, asked,
                        claimed ? bucket.birth() + 1 : before.version() + 1,
                        claimed ? 1 : 1 - before.cell(), claimed);
  }
  self.barrier();
  if (first) {
    require(home.make_room(hash, bucket) == detail::Room::kMade, "and goes on behind it");
    require(home.bucket_of(hash) != bucket, "there is another bucket");
    require(home.invariant(), "the directory is right");
  }
  self.barrier();
  require(table.find(key) == 6, "what was written");
  for (const std::uint64_t other : others) require(table.find(other) == other, "nothing is lost");
  self.barrier();
}

/// Worker 1 knows the directory as it was before worker 0 made all these entries and changed them.
constexpr std::uint64_t kEntries = 60;
void change_behind_an_old_directory(Table& table) {
  for (std::uint64_t key = 0; key < kEntries; ++key) {
    require(table.insert(key, key) == Status::kDone, "an insert");
  }
  for (std::uint64_t key = 0; key < kEntries; ++key) {
    const Status status = key % 4 == 0 ? table.remove(key) : table.update(key, key + 1000);
    require(status == Status::kDone, "a change");
  }
}

}  // namespace

TEST_CASE("a_rebuild_waits_for_a_writer_that_lives") {
  for (const Begun begun : {Begun::kClaimed, Begun::kLocked}) {
    support::in_every_mode({.processes = 2, .threads = 1},
                           [begun](auto& self) { rebuild_beside_a_writer(self, begun); });
  }
}

TEST_CASE("who_knows_an_old_directory_finds_what_is_there_now") {
  support::in_every_mode({.processes = 2, .threads = 1}, [](dsfabric::Thread& self) {
    Table table(self, {.bytes = 1 << 20, .buckets = 2});
    if (self.id().process.value == 0) change_behind_an_old_directory(table);
    self.barrier();
    for (std::uint64_t key = 0; key < kEntries; ++key) {
      require(table.find(key) == (key % 4 == 0 ? std::nullopt : std::optional(key + 1000)),
              "the value that it has now");
    }
    self.barrier();
  });
}

TEST_CASE("a_walk_along_an_old_directory_shows_what_is_there_now") {
  support::in_every_mode({.processes = 2, .threads = 1}, [](dsfabric::Thread& self) {
    Table table(self, {.bytes = 1 << 20, .buckets = 2});
    if (self.id().process.value == 0) change_behind_an_old_directory(table);
    self.barrier();
    std::set<std::uint64_t> seen;
    table.for_each([&](std::uint64_t key, std::uint64_t value) {
      require(key % 4 != 0 && value == key + 1000, "an entry that it has now");
      require(seen.insert(key).second, "no key twice");
    });
    require(seen.size() == kEntries * 3 / 4, "all of them");
    self.barrier();
  });
}

TEST_CASE("an_insert_by_an_old_directory_changes_the_new_one") {
  support::in_every_mode({.processes = 2, .threads = 1}, [](dsfabric::Thread& self) {
    Table table(self, {.bytes = 1 << 20, .buckets = 2});
    const bool first = self.id().process.value == 0;
    if (first) change_behind_an_old_directory(table);
    self.barrier();
    for (std::uint64_t key = kEntries; key < 2 * kEntries && !first; ++key) {
      require(table.insert(key, key + 1000) == Status::kDone, "an insert");
    }
    self.barrier();
    for (std::uint64_t key = 0; key < 2 * kEntries; ++key) {
      const bool removed = key < kEntries && key % 4 == 0;
      require(table.find(key) == (removed ? std::nullopt : std::optional(key + 1000)),
              "nothing is lost");
    }
    require(table.detail().home().invariant(), "the directory is right");
    self.barrier();
  });
}

TEST_CASE("keys_that_come_and_go_need_no_more_memory") {
  for (const Mode mode : {Mode::kOneSided, Mode::kByCall}) {
    support::in_every_mode({.processes = 2, .threads = 1}, [mode](dsfabric::Thread& self) {
      Table table(self, {.mode = mode, .bytes = 16 << 10, .buckets = 2});
      if (self.id().process.value == 0) {
        for (std::uint64_t key = 0; key < 1000; ++key) {
          require(table.insert(key, key) == Status::kDone, "there is room for one key");
          require(table.remove(key) == Status::kDone, "a removal");
        }
      }
      self.barrier();
      require(table.fill().entries == 0, "nothing is left");
      require(table.fill().buckets <= 4, "and no bucket was split for it");
      self.barrier();
    });
  }
}

TEST_CASE("a_key_that_is_updated_for_ever_needs_no_more_memory") {
  support::in_every_mode({.processes = 2, .threads = 1}, [](dsfabric::Thread& self) {
    Table table(self, {.growth = Growth::kNone, .bytes = 16 << 10, .buckets = 2});
    const bool first = self.fabric().rank_of(self.id()) == 0;
    const std::uint64_t key = key_of_first(0);
    const auto update = [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        require(table.update(key, i) == Status::kDone, "an update");
      }
    };
    // The slot is worn while worker 1 updates it, and once more while its home does.
    constexpr std::uint64_t kNearly = SlotWord::kMaxCount - 20;
    if (first) {
      require(table.insert(key, 0) == Status::kDone, "an insert");
      update(0, kNearly);
    }
    self.barrier();
    if (!first) update(kNearly, kNearly + 50);
    self.barrier();
    require(table.find(key) == kNearly + 49, "the last value");
    self.barrier();
    if (first) update(0, kNearly + 50);
    self.barrier();
    require(table.find(key) == kNearly + 49, "the last value");
    self.barrier();
  });
}
