// SPDX-License-Identifier: MIT
// rebuild_queue and rebuild_counters: who holds, who is next, what the words say.
#include "queue_repair.hpp"

#include <deque>

#include "counter_repair.hpp"
#include "counters.hpp"
#include "support/catch.hpp"

using namespace locks;
using namespace locks::detail;

namespace {

constexpr std::uint64_t kGrantedWord = 0;
constexpr std::uint64_t kDiedWord = pair_word(1, 0);
constexpr std::uint64_t kWaits = 1;
const PlaceNumber kDead = place_number(9, 0);

/// Requests of the living, made one by one.
struct Requests {
  std::deque<Place> places;
  std::vector<Report> reports;

  Place& add(Mode mode, Phase phase, PlaceNumber before = 0) {
    Place& place = places.emplace_back();
    place = Place{};
    place.mode = mode;
    place.phase = phase;
    place.before = before;
    place.granted = kWaits;
    reports.push_back({place_number(static_cast<std::uint32_t>(reports.size()), 0), &place});
    return place;
  }
  PlaceNumber number(std::size_t i) const { return reports[i].number; }
};

}  // namespace

TEST_CASE("a_lock_that_only_the_dead_used_is_free_or_marked") {
  std::vector<Report> nobody;
  LockWords words{pair_word(kDead, 3), 1};
  rebuild_queue(words, nobody);
  CHECK(words.word == pair_word(kDied, 0));
  CHECK(words.released == 0);
  words = {pair_word(0, 3), 1};
  rebuild_queue(words, nobody);
  CHECK(words.word == 0);
  words = {pair_word(kDied, 3), 1};
  rebuild_queue(words, nobody);
  CHECK(words.word == pair_word(kDied, 0));
}

TEST_CASE("the_holder_keeps_the_lock_and_the_waiters_their_order") {
  Requests all;
  Place& holder = all.add(Mode::kExclusive, Phase::kHeld);
  Place& last = all.add(Mode::kExclusive, Phase::kWaiting, kDead);
  Place& next = all.add(Mode::kExclusive, Phase::kWaiting, all.number(0));
  Place& reader = all.add(Mode::kShared, Phase::kWaiting, all.number(0));
  holder.next = pair_word(all.number(2), 1);
  holder.readers[0] = all.number(3);
  LockWords words{pair_word(all.number(1), 0), 0};
  rebuild_queue(words, all.reports);
  CHECK(holder.next == pair_word(all.number(2), 1));
  CHECK(holder.readers[0] == all.number(3));
  CHECK(next.drain == 1);
  CHECK(next.next == pair_word(all.number(1), 0));
  CHECK(last.drain == 0);
  CHECK(words.word == pair_word(all.number(1), 0));
  for (const Place* waits : {&last, &next, &reader}) CHECK(waits->granted == kWaits);
}

TEST_CASE("the_first_in_line_gets_the_lock_of_a_holder_that_died_and_is_told") {
  Requests all;
  Place& first = all.add(Mode::kExclusive, Phase::kWaiting, kDead);
  Place& second = all.add(Mode::kExclusive, Phase::kWaiting, all.number(0));
  first.next = pair_word(all.number(1), 0);
  LockWords words{pair_word(all.number(1), 0), 0};
  rebuild_queue(words, all.reports);
  CHECK(first.granted == kDiedWord);
  CHECK(second.granted == kWaits);
  CHECK(first.next == pair_word(all.number(1), 0));
}

TEST_CASE("readers_that_waited_for_the_dead_get_the_lock_together_and_the_next_waits_for_them") {
  Requests all;
  Place& one = all.add(Mode::kShared, Phase::kWaiting, kDead);
  Place& two = all.add(Mode::kShared, Phase::kWaiting, kDead);
  Place& writer = all.add(Mode::kExclusive, Phase::kWaiting, kDead);
  LockWords words{pair_word(all.number(2), 0), 0};
  rebuild_queue(words, all.reports);
  CHECK(one.granted == kDiedWord);
  CHECK(two.granted == kDiedWord);
  CHECK(writer.granted == kDiedWord);
  CHECK(writer.drain == 2);
  CHECK(words.word == pair_word(all.number(2), 0));
}

TEST_CASE("a_reader_that_died_holds_nobody_up") {
  Requests all;
  all.add(Mode::kShared, Phase::kHeld);
  Place& writer = all.add(Mode::kExclusive, Phase::kDraining);
  writer.drain = 2;
  LockWords words{pair_word(all.number(1), 0), 0};
  rebuild_queue(words, all.reports);
  CHECK(writer.drain == 1);
  CHECK(words.released == 0);
}

TEST_CASE("a_mark_that_readers_have_outlives_the_exclusive_request_that_waited_for_them") {
  for (const bool has_read : {true, false}) {
    Requests all;
    Place& reader = all.add(Mode::kShared, has_read ? Phase::kHeld : Phase::kWaiting);
    if (has_read) {
      reader.owner_died = 1;
    } else {
      reader.granted = kDiedWord;
    }
    LockWords words{pair_word(kDead, 0), 0};
    rebuild_queue(words, all.reports);
    CHECK(words.word == pair_word(kDied, 1));

    Place& next = all.add(Mode::kExclusive, Phase::kWaiting, kDead);
    words = {pair_word(all.number(1), 0), 0};
    rebuild_queue(words, all.reports);
    CHECK(next.granted == kDiedWord);
    CHECK(next.drain == 1);
  }
}

TEST_CASE("an_exclusive_request_that_waits_for_readers_keeps_the_mark_for_itself") {
  Requests all;
  all.add(Mode::kShared, Phase::kHeld).owner_died = 1;
  Place& draining = all.add(Mode::kExclusive, Phase::kDraining);
  draining.owner_died = 1;
  Place& next = all.add(Mode::kExclusive, Phase::kWaiting, all.number(1));
  draining.next = pair_word(all.number(2), 0);
  LockWords words{pair_word(all.number(2), 0), 0};
  rebuild_queue(words, all.reports);
  CHECK(draining.drain == 1);
  CHECK(next.granted == kWaits);
  CHECK(words.word == pair_word(all.number(2), 0));
}

TEST_CASE("who_was_releasing_is_released_by_the_home") {
  Requests all;
  Place& leaves = all.add(Mode::kExclusive, Phase::kReleasing);
  Place& next = all.add(Mode::kExclusive, Phase::kWaiting, kDead);
  LockWords words{pair_word(all.number(1), 0), 0};
  rebuild_queue(words, all.reports);
  CHECK(high(leaves.next) == kReleasedByHome);
  CHECK(next.granted == kGrantedWord);
}

TEST_CASE("a_holder_that_died_is_told_of_before_the_one_that_the_home_had_released_knows") {
  Requests all;
  Place& leaves = all.add(Mode::kExclusive, Phase::kReleasing);
  leaves.next = pair_word(kReleasedByHome, 0);
  // The next one got the lock then, and died in it.
  LockWords words{pair_word(kDead, 0), 0};
  rebuild_queue(words, all.reports);
  CHECK(words.word == pair_word(kDied, 0));
  CHECK(leaves.next == pair_word(kReleasedByHome, 0));

  // Or it releases, too, and has told who follows it.
  Place& also = all.add(Mode::kExclusive, Phase::kReleasing, all.number(0));
  Place& second = all.add(Mode::kExclusive, Phase::kWaiting, kDead);
  Place& first = all.add(Mode::kExclusive, Phase::kWaiting, all.number(1));
  also.next = pair_word(all.number(3), 0);
  words = {pair_word(all.number(2), 0), 0};
  rebuild_queue(words, all.reports);
  CHECK(high(leaves.next) == kReleasedByHome);
  CHECK(high(also.next) == kReleasedByHome);
  CHECK(first.granted == kGrantedWord);
  CHECK(second.granted == kWaits);
}

TEST_CASE("readers_beyond_a_mailbox_are_sent_to_ask_again") {
  Requests all;
  all.add(Mode::kExclusive, Phase::kHeld);
  for (std::uint32_t i = 0; i < kReaders + 2; ++i) {
    all.add(Mode::kShared, Phase::kWaiting, kDead);
  }
  LockWords words{pair_word(kDead, 0), 0};
  rebuild_queue(words, all.reports);
  CHECK(words.word == pair_word(all.number(0), kReaders));
  std::uint32_t again = 0;
  for (const Place& place : all.places) {
    again += place.granted == pair_word(static_cast<std::uint32_t>(Verdict::kAgain), 0);
  }
  CHECK(again == 2);
}

TEST_CASE("counters_are_rebuilt_from_the_places_of_the_living") {
  Requests all;
  // Before: a reader (dead), then exclusive 0 (dead holder), then these two.
  Place& reader = all.add(Mode::kShared, Phase::kWaiting, 1);
  reader.count = 1;
  Place& writer = all.add(Mode::kExclusive, Phase::kWaiting, 1);
  writer.count = 2;
  LockWords words{2 | 2 * Counters::kOneExclusive | Counters::kOneSharedServed, 0};
  rebuild_counters(words, all.reports);
  const Counters now{words.word};
  CHECK(now.died());
  CHECK(now.next_exclusive() == 1);
  CHECK(now.next_shared() == 1);
  CHECK(now.served_exclusive() + now.served_shared() == 0);
  CHECK(reader.before == 0);
  CHECK(writer.before == 0);
  CHECK(writer.count == 1);
}
