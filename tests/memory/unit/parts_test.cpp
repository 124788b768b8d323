// SPDX-License-Identifier: MIT
// Version words, slots of places, and the cache, each by itself.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <vector>

#include "cache.hpp"
#include "layout.hpp"
#include "memory/memory.hpp"
#include "segment.hpp"
#include "slots.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "tries.hpp"

using namespace memory;
using namespace memory::detail;

TEST_CASE("versions_wrap_inside_of_their_generation") {
  const std::uint64_t last = first_version(7) | kNumberMask;
  CHECK(generation_of(next_version(last)) == 7);
  CHECK((next_version(last) & kNumberMask) == 0);
  CHECK(next_version(first_version(7) | kDamagedBit) == first_version(7) + 4);
  CHECK(generation_of(freed_version(first_version(7))) == 8);
  CHECK(freed_version(first_version(kLastGeneration)) == 0);
}

TEST_CASE("slot_sizes_hold_what_was_asked_and_waste_at_most_a_fifth") {
  for (std::uint64_t bytes = 1; bytes < 300'000; bytes += 1 + bytes / 50) {
    const std::uint64_t size = Slots::size_class(bytes);
    CHECK(size >= bytes);
    CHECK(size % 64 == 0);
    CHECK(size - bytes < std::max<std::uint64_t>(64, size / 5 + 1));
    CHECK(Slots::size_class(size) == size);
  }
}

TEST_CASE("slots_never_overlap_and_headers_stay_headers") {
  const std::uint64_t seed = support::test_seed();
  support::Random random(seed);
  CAPTURE(seed);
  Slots slots(2 << 20);
  std::vector<std::uint64_t> taken;
  std::set<std::uint64_t> ever;
  bool full = false;
  for (int i = 0; i < 20'000; ++i) {
    if (!taken.empty() && random.one_in(full ? 2 : 3)) {
      const std::size_t which = random.below(taken.size());
      slots.give_back(taken[which]);
      taken[which] = taken.back();
      taken.pop_back();
      continue;
    }
    bool fresh = false;
    const auto offset = slots.take(random.size_up_to(100'000), fresh);
    if (!offset) {
      full = true;
      continue;
    }
    REQUIRE(fresh == ever.insert(*offset).second);
    REQUIRE(slots.size_at(*offset) != 0);
    taken.push_back(*offset);
  }
  CHECK(full);
  std::sort(taken.begin(), taken.end());
  for (std::size_t i = 1; i < taken.size(); ++i) {
    REQUIRE(taken[i - 1] + slots.size_at(taken[i - 1]) <= taken[i]);
  }
  std::set<std::uint64_t> seen;
  slots.for_each([&](std::uint64_t offset) { seen.insert(offset); });
  CHECK(seen == ever);
  CHECK(slots.size_at(3) == 0);
  CHECK(slots.size_at(std::uint64_t{1} << 39) == 0);
}

namespace {

Place place_of(std::uint64_t place, std::uint32_t length) {
  Place made;
  made.place = place;
  made.tag = 1;
  made.length = length;
  return made;
}

}  // namespace

TEST_CASE("cache_drops_what_was_not_used_for_longest") {
  const std::atomic<std::uint32_t> failures{0};
  Hits hits(failures);
  Cache cache(300, hits);
  CHECK(cache.find(0) == nullptr);
  cache.add(place_of(1, 100));
  cache.add(place_of(2, 100));
  cache.add(place_of(3, 100));
  CHECK(cache.find(1) != nullptr);
  Cache::Entry* const victim = cache.victim(100);
  REQUIRE(victim != nullptr);
  CHECK(victim->place.place == 2);
  cache.erase(*victim);
  CHECK(cache.find(2) == nullptr);
  CHECK(cache.victim(100) == nullptr);
  CHECK(cache.takes(150));
  CHECK_FALSE(cache.takes(151));
  CHECK(cache.bytes() == 200);
}

TEST_CASE("cache_evicts_in_the_order_of_use_whatever_was_used_in_between") {
  const std::uint64_t seed = support::test_seed();
  support::Random random(seed);
  CAPTURE(seed);
  const std::atomic<std::uint32_t> failures{0};
  Hits hits(failures);
  Cache cache(50 * 8, hits);
  const std::uint64_t version = first_version(1);
  std::vector<std::uint64_t> by_use;  // the last used one at the end
  for (int i = 0; i < 20'000; ++i) {
    const Place place = place_of(random.below(70) * 64, 8);
    const auto at = std::find(by_use.begin(), by_use.end(), place.place);
    std::uint64_t value = 0;
    // The inlined hit and the search find the same, as long as the table has the copy.
    Cache::Entry* const found = random.one_in(2) && hits.read(place, &value, 8)
                                    ? hits.recent[Hits::slot_of(place.place)]
                                    : cache.find(place.place);
    REQUIRE((found != nullptr) == (at != by_use.end()));
    if (found != nullptr) {
      REQUIRE(found->place.place == place.place);
      by_use.erase(at);
    } else {
      while (Cache::Entry* const victim = cache.victim(8)) {
        REQUIRE(victim->place.place == by_use.front());
        by_use.erase(by_use.begin());
        cache.erase(*victim);
      }
      Cache::Entry& added = cache.add(place);
      added.word = &version;
      added.version = version;
    }
    by_use.push_back(place.place);
    REQUIRE(cache.size() == by_use.size());
  }
  CHECK(hits.counters.hits > 1'000);
}

TEST_CASE("a_hit_is_of_the_same_segment_inside_of_it_current_and_of_a_home_that_lives") {
  std::atomic<std::uint32_t> failures{0};
  Hits hits(failures);
  Cache cache(1000, hits);
  const Place place = place_of(640, 16);
  std::uint64_t told = first_version(1), value[2]{};
  CHECK_FALSE(hits.read(place, value, 8));
  Cache::Entry& copy = cache.add(place);
  CHECK_FALSE(hits.read(place, value, 8));  // neither subscribed nor fetched
  copy.word = &told;
  CHECK_FALSE(hits.read(place, value, 8));
  copy.version = told;
  const std::uint64_t data[] = {4, 5};
  std::memcpy(copy.data.get(), data, sizeof data);
  CHECK(hits.read(place, value, 8));
  CHECK(value[0] == 4);
  Place other = place;
  other.first = 8;
  CHECK(hits.read(other, value, 8));
  CHECK(value[0] == 5);
  CHECK_FALSE(hits.read(other, value, 9));
  other.first = 0xffff'fff8;
  CHECK_FALSE(hits.read(other, value, 16));
  other = place;
  other.tag = 3;
  CHECK_FALSE(hits.read(other, value, 8));
  other = place;
  other.length = 8;
  CHECK_FALSE(hits.read(other, value, 8));
  told = next_version(told);
  CHECK_FALSE(hits.read(place, value, 8));
  copy.version = told;
  CHECK(hits.read(place, value, 8));
  failures = 1;
  CHECK_FALSE(hits.read(place, value, 8));
  hits.failures_seen = 1;
  CHECK(hits.read(place, value, 8));
  CHECK(hits.counters.hits == 4);
  cache.erase(copy);
  CHECK_FALSE(hits.read(place, value, 8));
}

TEST_CASE("parts_of_lines_cover_a_range_once") {
  for (std::uint64_t first = 0; first < 100; ++first) {
    for (std::uint64_t bytes = 0; bytes < 200; bytes += 7) {
      std::uint64_t expected = 0;
      for_each_piece(first, bytes, [&](std::uint64_t at, std::uint64_t done, std::uint64_t piece) {
        CHECK(done == expected);
        CHECK(at % kLine >= kWord);
        CHECK(at % kLine + piece <= kBackAt);
        CHECK((at / kLine) * kLineData + at % kLine - kWord == first + done);
        expected += piece;
      });
      CHECK(expected == bytes);
    }
  }
}

TEST_CASE("a_writer_that_died_leaves_the_old_value_the_new_one_or_a_damaged_segment") {
  for (const bool lines : {false, true}) {
    alignas(64) std::byte memory[64 + 4 * 64]{};
    const Segment segment(memory, lines);
    segment.header().length = 100;
    segment.publish(first_version(1));
    CHECK(segment.repair());
    CHECK(segment.version() == first_version(1));
    segment.mark(segment.version());
    CHECK_FALSE(segment.repair());
    CHECK(segment.version() == (next_version(first_version(1)) | kDamagedBit));
    // It died when the data were there, before all words were.
    segment.publish(next_version(segment.version()));
    const std::uint64_t after = next_version(segment.version());
    segment.mark(segment.version());
    segment.header().version = after;
    CHECK(segment.repair());
    CHECK(segment.version() == after);
    CHECK(segment.repair());
  }
}

TEST_CASE("pointers_move_inside_of_their_segment") {
  Place place;
  place.tag = 1;
  place.length = 40;
  place.type = type_number<std::uint64_t>();
  const GlobalPtr<std::uint64_t> first(place);
  CHECK(first.size() == 5);
  CHECK((first + 3).size() == 2);
  CHECK((first + 3 + -3) == first);
  CHECK((first + 6).size() == 0);
  CHECK_FALSE(GlobalPtr<int>());
  CHECK(type_number<int>() != type_number<unsigned>());
  CHECK(type_number<std::byte>() == 0);
}

TEST_CASE("a_request_that_is_sent_back_is_made_again_at_once_then_less_often") {
  Resend resend;
  CHECK(resend.due());
  resend.sent_back();
  CHECK(resend.due());
  // Pauses of a 64th of the time so far: about 64 tries for each time that it becomes e times
  // longer.
  constexpr std::chrono::milliseconds kTime{50};
  const auto begin = dtutils::Clock::now();
  int tries = 0;
  for (; dtutils::Clock::now() - begin < kTime; ++tries) {
    resend.sent_back();
    while (!resend.due()) dtutils::cpu_pause();
  }
  CHECK(tries < 1000);
}
