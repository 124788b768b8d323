// SPDX-License-Identifier: MIT
// Words, shapes, the sub-allocation, a look at a torn block, and the formulas of the cost model.
#include <cmath>
#include <cstdint>
#include <ostream>
#include <set>
#include <vector>

#include "hashtable/cost.hpp"
#include "hashtable/detail/examine.hpp"
#include "hashtable/detail/heap.hpp"
#include "support/catch.hpp"

using namespace hashtable;
using namespace hashtable::detail;

TEST_CASE("a_slot_word_gives_back_its_parts") {
  const SlotWord word = SlotWord::make(SlotState::kLive, 777, 12'345, 0x1234'5678, 1);
  CHECK(word.state() == SlotState::kLive);
  CHECK(word.fingerprint() == 777);
  CHECK(word.owner() == 12'345);
  CHECK(word.version() == 0x1234'5678);
  CHECK(word.life() == 0x1234);
  CHECK(word.cell() == 1);
  CHECK_FALSE(word.locked());
  CHECK_FALSE(word.frozen());
}

TEST_CASE("slots_fill_a_block_and_do_not_overlap") {
  for (std::uint32_t key_words = 1; key_words <= 4; ++key_words) {
    for (std::uint32_t value_words = 1; value_words <= 8; ++value_words) {
      const Shape shape = shape_of(key_words, value_words);
      CHECK(shape.slots >= kMinSlots);
      CHECK(shape.slot_at(shape.slots) <= shape.block_words);
      CHECK(shape.block_words % 8 == 0);
      CHECK(shape.cell_at(1, 0) == shape.slot_at(1));
      CHECK(shape.word_at(0) == shape.cell_at(0, 0) + 1 + value_words);
      CHECK(shape.cell_at(0, 1) == shape.word_at(0) + 1);
      CHECK(shape.key_at(0) + key_words == shape.slot_at(1));
    }
  }
}

TEST_CASE("blocks_and_pieces_never_overlap_and_memory_comes_back") {
  Heap heap(1024, 8, 64);
  std::set<std::uint32_t> blocks;
  const auto piece = heap.take(100);
  REQUIRE(piece);
  while (const auto block = heap.take_block()) {
    CHECK(blocks.insert(block->index()).second);
    CHECK(block->index() * 64 >= 8);
    CHECK((block->index() + 1) * 64 <= *piece);
    CHECK(block->life() == 1);
  }
  CHECK(blocks.size() > 5);
  CHECK_FALSE(heap.take(64));
  heap.give_block(*blocks.begin());
  const auto again = heap.take_block();
  REQUIRE(again);
  CHECK(again->index() == *blocks.begin());
  CHECK(again->life() == 2);  // so that words of its first life fit nowhere
  heap.give(*piece, 100);
  CHECK(heap.taken() == 0);
  CHECK(heap.take(100) == piece);
}

TEST_CASE("a_look_takes_no_cell_that_is_half_written_and_no_word_of_another_life") {
  constexpr Shape kShape = shape_of(1, 1);
  std::vector<std::uint64_t> block(kShape.block_words);
  const BucketWord bucket = BucketWord::make(3, 1, 7);
  const std::array<std::uint64_t, 1> key{42};
  const std::uint64_t hash = hash_of(key.data(), 1);
  const std::uint32_t slot = first_slot(hash, kShape.slots);
  const auto look = [&] {
    Seen<1> seen;
    examine<1, 1>(block.data(), bucket, hash, key, seen);
    // The short look sees the same, where it sees anything.
    std::array<std::uint64_t, 1> value{};
    const bool has_value = first_has_value<1, 1>(block.data(), bucket, hash, key, value);
    CHECK(has_value == (seen.look == Look::kValue && !seen.frozen && !seen.settling));
    if (has_value) CHECK(value == seen.value);
    return seen;
  };
  const auto put = [&](unsigned cell, std::uint32_t version, std::uint64_t value) {
    block[kShape.cell_at(slot, cell)] = check_of(version, &value, 1, key.data(), 1);
    block[kShape.cell_at(slot, cell) + 1] = value;
  };
  const auto word = [&](SlotState state, std::uint32_t version, unsigned cell) {
    block[kShape.word_at(slot)] = SlotWord::make(state, fingerprint_of(hash), 0, version, cell).raw;
  };
  for (std::uint32_t i = 0; i < kShape.slots; ++i) {
    block[kShape.word_at(i)] = SlotWord::empty(bucket.birth()).raw;
  }
  CHECK(look().look == Look::kEmpty);
  const std::uint32_t birth = bucket.birth();
  block[kShape.key_at(slot)] = 42;
  word(SlotState::kLive, birth + 1, 1);
  CHECK(look().look == Look::kEmpty);  // behind it: the first entry is still arriving
  CHECK(look().claimed);
  put(1, birth + 1, 5);
  CHECK(look().look == Look::kValue);
  CHECK(look().value[0] == 5);
  word(SlotState::kLive, birth + 2, 0);  // an update whose cell is still arriving
  CHECK(look().look == Look::kValue);
  CHECK(look().value[0] == 5);
  CHECK(look().settling);
  block[kShape.cell_at(slot, 0) + 1] = 6;
  CHECK(look().value[0] == 5);
  put(0, birth + 2, 6);
  CHECK(look().value[0] == 6);
  CHECK_FALSE(look().settling);
  block[kShape.word_at(slot)] |= SlotWord::kFrozen;
  CHECK(look().look == Look::kValue);
  CHECK(look().frozen);
  block[kShape.word_at(slot)] &= ~SlotWord::kFrozen;
  block[kShape.key_at(slot)] = 43;  // of the same fingerprint
  put(0, birth + 2, 6);
  CHECK(look().look != Look::kValue);
  const std::array<std::uint64_t, 1> other{43};
  const std::uint64_t its_value = 6;
  block[kShape.cell_at(slot, 0)] = check_of(birth + 2, &its_value, 1, other.data(), 1);
  CHECK(look().look == Look::kEmpty);  // behind it: the slot is whole, and of the other key
  CHECK_FALSE(look().settling);
  block[kShape.key_at(slot)] = 42;
  put(0, birth + 2, 6);
  CHECK(look().look == Look::kValue);
  word(SlotState::kAbsent, birth + 3, 0);
  CHECK(look().look == Look::kAbsent);
  word(SlotState::kLive, birth + 4, 1);  // an insert of the removed key, still arriving
  CHECK(look().look == Look::kAbsent);
  CHECK(look().settling);
  const std::uint32_t later = BucketWord::make(3, 1, 8).birth();
  block[kShape.word_at(slot)] = SlotWord::empty(later).raw;  // the memory is another block
  CHECK(look().look == Look::kStale);
  word(SlotState::kLive, later + 2, 0);  // which has the key, too
  put(0, later + 2, 7);
  CHECK(look().look == Look::kStale);
}

TEST_CASE("a_look_leads_to_the_next_block_only_out_of_the_same_life") {
  constexpr Shape kShape = shape_of(1, 1);
  std::vector<std::uint64_t> block(kShape.block_words);
  const BucketWord bucket = BucketWord::make(3, 1, 7);
  const BucketWord next = BucketWord::make(4, 1, 2);
  const std::array<std::uint64_t, 1> key{42};
  const std::uint64_t hash = hash_of(key.data(), 1);
  for (std::uint32_t i = 0; i < kShape.slots; ++i) {
    block[kShape.word_at(i)] =
        SlotWord::make(SlotState::kLive, fingerprint_of(hash) ^ 1, 0, bucket.birth() + 1, 1).raw;
  }
  Seen<1> seen;
  block[1] = next.held_by(bucket.life()).raw;
  examine<1, 1>(block.data(), bucket, hash, key, seen);
  CHECK(seen.look == Look::kEnd);
  CHECK(seen.next == next);
  block[1] = next.held_by(bucket.life() + 1).raw;
  examine<1, 1>(block.data(), bucket, hash, key, seen);
  CHECK(seen.look == Look::kStale);
}

namespace {

/// Equal but for rounding.
struct About {
  explicit About(double figure) : value(figure) {}
  double value;
  friend bool operator==(double a, const About& b) { return std::abs(a - b.value) < 1e-6; }
  friend std::ostream& operator<<(std::ostream& out, const About& b) { return out << b.value; }
};

}  // namespace

TEST_CASE("the_cost_model_adds_what_operations_are_made_of") {
  const cost::Basics basics{.write = 1,
                            .read_word = 3,
                            .read = 10,
                            .compare_and_swap = 100,
                            .fetch_and_add = 0,
                            .look = 1010,
                            .change = 1130,
                            .claim = 127,
                            .taken = 1231,
                            .kept = 1005,
                            .missed = 1012,
                            .call = 10'000,
                            .service = 50'000,
                            .wake = 90'000,
                            .awake = 15'000,
                            .block = 60'000,
                            .block_asleep = 110'000,
                            .lock = 0,
                            .hit = 1000};
  using enum Operation;
  CHECK(cost::expect(kFind, Mode::kOneSided, basics, 0, {}) == About(1010));
  CHECK(cost::expect(kFind, Mode::kOneSided, basics, 0.7, {}) == About(1010));
  CHECK(cost::expect(kFind, Mode::kCached, basics, 0.7, {}) == About(0.7 * 1005 + 0.3 * 1012));
  CHECK(cost::expect(kFind, Mode::kCached, basics, 0.7, {.factor = 1, .chained = 0.5}) ==
        About(0.7 * 1005 + 0.3 * 1517));
  CHECK(cost::expect(kFind, Mode::kOneSided, basics, 0, {.factor = 1, .chained = 0.5}) ==
        About(1515));
  // Looks take longer the fuller the blocks are.
  cost::Basics crowded = basics;
  crowded.crowded = 1050;
  CHECK(cost::expect(kFind, Mode::kOneSided, crowded, 0, {}) == About(1010));
  CHECK(cost::expect(kFind, Mode::kOneSided, crowded, 0, {.factor = 0.5}) == About(1030));
  CHECK(cost::expect(kFind, Mode::kOneSided, crowded, 0, {.factor = 1, .chained = 0.5}) ==
        About(1050 + 525));
  CHECK(cost::expect(kFind, Mode::kCached, crowded, 0.7, {.factor = 0.5}) ==
        About(0.7 * 1005 + 0.3 * 1032));
  CHECK(cost::expect(kRemove, Mode::kOneSided, crowded, 0, {.factor = 0.5}) == About(1150));
  CHECK(cost::expect(kInsert, Mode::kOneSided, crowded, 0, {.factor = 0.5}) ==
        About(0.5 * 127 + 0.5 * (1231 + 20)));
  CHECK(cost::expect(kInsert, Mode::kOneSided, basics, 0, {}) == About(127));
  CHECK(cost::expect(kInsert, Mode::kCached, basics, 0.7, {}) == About(127));
  CHECK(cost::expect(kInsert, Mode::kOneSided, basics, 0, {.factor = 0.5}) ==
        About(0.5 * 127 + 0.5 * 1231));
  CHECK(cost::expect(kInsert, Mode::kOneSided, basics, 0, {.further = 2}) == About(127 + 2020));
  // A service thread that every insert asks is awake, one that is hardly ever asked sleeps.
  constexpr double kRoom = 60'000;
  const auto room_at = [&](double full) {
    return (cost::expect(kInsert, Mode::kOneSided, basics, 0, {.full = full}) - 127) / full;
  };
  CHECK(std::abs(room_at(1) - kRoom) < 1);
  CHECK(std::abs(room_at(1e-7) - 110'000) < 1);
  cost::Basics sleepless = basics;
  sleepless.block_asleep = sleepless.block;
  // Of four inserts one gets its first slot, two another one, and one finds its bucket full.
  CHECK(cost::expect(kInsert, Mode::kOneSided, sleepless, 0, {.factor = 0.75, .full = 0.25}) ==
        About(0.25 * 127 + 0.5 * 1231 + 0.25 * kRoom));
  // Figures of a machine where others compute: waking took less than a call. No insert is shorter.
  cost::Basics disturbed = sleepless;
  disturbed.block_asleep = 0;
  CHECK(cost::expect(kInsert, Mode::kOneSided, disturbed, 0, {.factor = 0.01, .full = 0.01}) ==
        cost::expect(kInsert, Mode::kOneSided, sleepless, 0, {.factor = 0.01, .full = 0.01}));
  CHECK(cost::expect(kUpdate, Mode::kOneSided, basics, 0, {}) == About(1131));
  CHECK(cost::expect(kRemove, Mode::kOneSided, basics, 0, {}) == About(1130));
  CHECK(cost::expect(kRemove, Mode::kByCall, basics, 0, {}) == About(11'000));
  CHECK(cost::cheaper(kFind, basics, 0, {}) == Mode::kOneSided);
  CHECK(cost::cheaper(kFind, basics, 0, {.factor = 1, .chained = 20}) == Mode::kOneSided);
  cost::Basics near = basics;
  near.call = 5;
  CHECK(cost::cheaper(kFind, near, 0, {}) == Mode::kByCall);
  CHECK(cost::to_json({basics, near}).find("\"call_ns\": 5.00") != std::string::npos);
}

TEST_CASE("a_table_that_chains_has_the_load_that_chance_gives_it") {
  const double none = std::exp(-1.0);
  const cost::Load ones = cost::chaining(1, 1);
  CHECK(ones.factor == About(1 - none));
  CHECK(ones.full == About(1 - none));
  CHECK(ones.chained == About(none));
  CHECK(ones.further == About(none));
  // 4.5 keys for 9 slots: nine with this probability, eighteen hardly ever.
  const cost::Load half = cost::chaining(0.5, 9);
  CHECK(std::abs(half.full - std::exp(-4.5) * std::pow(4.5, 9) / 362'880) < 1e-5);
  CHECK(half.factor * 9 + half.chained * 4.5 == About(4.5));  // each key is in one or the other
  CHECK(half.further > 0);
  CHECK(half.further < half.full);
  CHECK(cost::chaining(40, 9).factor == About(1));
  CHECK(cost::chaining(0, 9).factor == 0);
  CHECK(cost::chaining(0, 9).full == 0);
}
