// SPDX-License-Identifier: MIT
// Version words, slots of places, and the cache, each by itself.
#include <set>
#include <vector>

#include "cache.hpp"
#include "layout.hpp"
#include "memory/memory.hpp"
#include "segment.hpp"
#include "slots.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

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

TEST_CASE("cache_drops_what_was_not_used_for_longest") {
  Cache cache(300);
  cache.add(1, 100);
  cache.add(2, 100);
  cache.add(3, 100);
  CHECK(cache.find(1) != nullptr);
  Cache::Entry* const victim = cache.victim(100);
  REQUIRE(victim != nullptr);
  CHECK(victim->key == 2);
  cache.erase(*victim);
  CHECK(cache.find(2) == nullptr);
  CHECK(cache.victim(100) == nullptr);
  CHECK(cache.takes(150));
  CHECK_FALSE(cache.takes(151));
  CHECK(cache.bytes() == 200);
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
