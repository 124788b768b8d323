// SPDX-License-Identifier: MIT
// One try of an operation on a block that a test has written: whom it waits for, and what it
// writes.
#include "hashtable/detail/attempt.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "support/catch.hpp"

using namespace hashtable;
using namespace hashtable::detail;

namespace {

constexpr Shape kShapeOfOne = shape_of(1, 1);
const BucketWord kTriedBucket = BucketWord::make(3, 1, 7);
constexpr std::array<std::uint64_t, 1> kTriedKey{42};
const std::uint64_t kTriedHash = hash_of(kTriedKey.data(), 1);
const std::uint32_t kFirst = first_slot(kTriedHash, kShapeOfOne.slots);
constexpr std::uint16_t kOther = 5;
constexpr std::uint16_t kMe = 6;

/// A block with empty slots.
class BlockPort {
 public:
  BlockPort() {
    for (std::uint32_t i = 0; i < kShapeOfOne.slots; ++i) {
      word(i) = SlotWord::empty(kTriedBucket.birth()).raw;
    }
    words_[1] = BucketWord{}.held_by(kTriedBucket.life()).raw;
  }
  std::uint64_t& word(std::uint32_t slot) { return words_[kShapeOfOne.word_at(slot)]; }
  /// Gives the key a value in its first slot, as the change of that number.
  void put(std::uint32_t count, std::uint64_t value, unsigned cell) {
    const std::uint32_t version = kTriedBucket.birth() + count;
    words_[kShapeOfOne.cell_at(kFirst, cell)] = check_of(version, &value, 1, kTriedKey.data(), 1);
    words_[kShapeOfOne.cell_at(kFirst, cell) + 1] = value;
    words_[kShapeOfOne.key_at(kFirst)] = kTriedKey[0];
    word(kFirst) =
        SlotWord::make(SlotState::kLive, fingerprint_of(kTriedHash), kOther, version, cell).raw;
  }
  std::uint64_t value_in(unsigned cell) const {
    return words_[kShapeOfOne.cell_at(kFirst, cell) + 1];
  }

  const std::uint64_t* read(std::uint32_t /*index*/) const { return words_.data(); }
  std::uint64_t read_word(std::uint32_t /*index*/, std::uint32_t at) const { return words_[at]; }
  bool swap(std::uint32_t /*index*/, std::uint32_t at, std::uint64_t expected,
            std::uint64_t desired) {
    if (words_[at] != expected) return false;
    words_[at] = desired;
    return true;
  }
  void write(std::uint32_t /*index*/, std::uint32_t at, const std::uint64_t* words,
             std::uint32_t count, std::uint32_t /*slot_word*/) {
    std::copy_n(words, count, words_.begin() + at);
  }

 private:
  std::array<std::uint64_t, kShapeOfOne.block_words> words_{};
};

Attempt try_once(BlockPort& port, Operation operation, std::uint64_t value = 9) {
  Request<1, 1> request{operation, kMe, kTriedHash, kTriedKey, {value}};
  Seen<1> seen;
  return attempt(port, kTriedBucket, request, seen, false);
}

}  // namespace

TEST_CASE("an_insert_waits_for_a_writer_that_may_be_about_to_write_its_key") {
  const Operation inserts = GENERATE(Operation::kInsert, Operation::kInsertOrAssign);
  BlockPort port;
  const auto claimed_by = [&](std::uint32_t fingerprint) {
    port.word(kFirst) =
        SlotWord::make(SlotState::kClaimed, fingerprint, kOther, kTriedBucket.birth(), 0).raw;
  };
  claimed_by(fingerprint_of(kTriedHash));
  const Attempt tried = try_once(port, inserts);
  CHECK(tried.ended == Ended::kBusy);
  CHECK(tried.slot == kFirst);
  CHECK(tried.busy.raw == port.word(kFirst));
  // Who only looks waits for nobody.
  CHECK(try_once(port, Operation::kFind).status == Status::kMissing);
  // Neither does an insert of a key that the writer cannot have.
  claimed_by(fingerprint_of(kTriedHash) ^ 1);
  CHECK(try_once(port, inserts).status == Status::kDone);
  const SlotWord next{port.word((kFirst + 1) % kShapeOfOne.slots)};
  CHECK(next.state() == SlotState::kLive);
  CHECK(next.owner() == kMe);
}

TEST_CASE("an_update_leaves_the_value_before_where_it_is") {
  const unsigned cell = GENERATE(0u, 1u);
  BlockPort port;
  port.put(cell == 1 ? 1 : 2, 5, cell);
  CHECK(try_once(port, Operation::kUpdate).status == Status::kDone);
  CHECK(port.value_in(cell) == 5);
  CHECK(port.value_in(1 - cell) == 9);
  CHECK(SlotWord{port.word(kFirst)}.cell() == 1 - cell);
  CHECK(SlotWord{port.word(kFirst)}.owner() == kMe);
}

TEST_CASE("a_slot_that_is_frozen_or_worn_is_not_changed") {
  BlockPort port;
  const Operation changes =
      GENERATE(Operation::kUpdate, Operation::kInsertOrAssign, Operation::kRemove);
  port.put(SlotWord::kMaxCount - 1, 5, 1);
  SECTION("frozen") {
    port.word(kFirst) |= SlotWord::kFrozen;
    CHECK(try_once(port, changes).ended == Ended::kFrozen);
  }
  SECTION("worn") {
    port.put(SlotWord::kMaxCount, 5, 1);
    CHECK(try_once(port, changes).ended == Ended::kFull);
  }
  SECTION("neither") {
    CHECK(try_once(port, changes).status == Status::kDone);
    return;
  }
  CHECK(port.value_in(1) == 5);
  CHECK(port.value_in(0) == 0);
}
