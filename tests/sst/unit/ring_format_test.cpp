// SPDX-License-Identifier: MIT
// Rings: where slots and words lie, and what words say.
#include "sst/detail/ring_format.hpp"

#include <set>

#include "support/catch.hpp"

using namespace sst;
using detail::RingFormat;
using detail::SlotWord;

TEST_CASE("a_small_message_and_its_word_are_in_one_line_and_the_word_comes_last") {
  for (const std::uint32_t bytes : {1, 8, 9, 16, 24, 25, 56}) {
    CAPTURE(bytes);
    const RingFormat ring(bytes, 8);
    CHECK(ring.in_line);
    CHECK(ring.bytes % kLine == 0);
    for (std::uint64_t index = 0; index < 8; ++index) {
      CHECK(ring.slot(index) % 16 == 0);
      CHECK(ring.slot(index) + bytes <= ring.word(index));
      CHECK(ring.slot(index) / kLine == ring.word(index) / kLine);
      CHECK(ring.word(index) + sizeof(std::uint64_t) == ring.slot(index) + ring.stride);
    }
  }
  CHECK(RingFormat(16, 8).stride == 32);
  CHECK(RingFormat(56, 8).stride == 64);
  // Elsewhere the word has a write of its own, so it lies apart.
  CHECK_FALSE(RingFormat(16, 8, false).in_line);
  CHECK(RingFormat(16, 8, false).word(0) == 8 * 64);
}

TEST_CASE("no_two_bytes_of_a_ring_overlap_and_none_is_outside") {
  for (const std::uint32_t bytes : {8, 56, 57, 64, 65, 1000, 65536}) {
    for (const std::uint32_t slots : {4, 16}) {
      CAPTURE(bytes, slots);
      const RingFormat ring(bytes, slots);
      CHECK(ring.in_line == (bytes <= 56));
      std::set<std::size_t> used;
      std::size_t count = 0;
      for (std::uint64_t index = 0; index < slots; ++index) {
        for (std::size_t i = 0; i < bytes; ++i) used.insert(ring.slot(index) + i);
        for (std::size_t i = 0; i < sizeof(std::uint64_t); ++i) used.insert(ring.word(index) + i);
        count += bytes + sizeof(std::uint64_t);
        CHECK(ring.word(index) % sizeof(std::uint64_t) == 0);
        CHECK(ring.slot(index + slots) == ring.slot(index));
        CHECK(ring.word(index + slots) == ring.word(index));
      }
      CHECK(used.size() == count);
      CHECK(*used.rbegin() < ring.bytes);
    }
  }
}

TEST_CASE("a_ring_has_as_many_slots_as_fit_unless_told") {
  CHECK(RingFormat(16, 0).slots == kRingBytes / 32);
  CHECK(RingFormat(kMaxMessage, 0).slots == 2 * kMinSlots);
  CHECK(RingFormat(10240, 0).slots == 2 * kMinSlots);
  CHECK(RingFormat(16, 64).slots == 64);
}

TEST_CASE("a_word_holds_its_own_message_and_not_that_of_another_round") {
  CHECK_FALSE(SlotWord(0).holds(0));
  for (const std::uint64_t index :
       {0ull, 1ull, 4094ull, 0xfffffffeull, 0xffffffffull, 1ull << 40}) {
    CAPTURE(index);
    const SlotWord word = SlotWord::of(index, 17);
    CHECK(word.holds(index));
    CHECK_FALSE(word.is_null());
    CHECK(word.bytes() == 17);
    CHECK(word.turns() == 1);
    CHECK_FALSE(word.holds(index + kMinSlots));
    CHECK_FALSE(word.holds(index + kMaxSlots));
    const SlotWord null = SlotWord::null(index, SlotWord::kMaxCount);
    CHECK(null.holds(index));
    CHECK(null.is_null());
    CHECK(null.turns() == SlotWord::kMaxCount);
  }
}

TEST_CASE("a_word_that_is_written_in_parts_holds_nothing_until_it_is_whole") {
  // All ways in which some bytes are those of the message one round before.
  for (std::uint64_t index = kMinSlots; index < kMinSlots + 200; ++index) {
    const std::uint32_t bytes = 1 + static_cast<std::uint32_t>(index * 37 % kMaxMessage);
    const std::uint64_t before = SlotWord::of(index - kMinSlots, bytes / 2 + 1).raw();
    const std::uint64_t after = SlotWord::of(index, bytes).raw();
    for (unsigned old = 0; old < 256; ++old) {
      std::uint64_t mixed = after;
      for (unsigned byte = 0; byte < 8; ++byte) {
        const std::uint64_t mask = std::uint64_t{0xff} << (8 * byte);
        if ((old >> byte & 1) != 0) mixed = (mixed & ~mask) | (before & mask);
      }
      if (mixed == after) continue;
      CAPTURE(index, old);
      REQUIRE_FALSE(SlotWord(mixed).holds(index));
    }
  }
}
