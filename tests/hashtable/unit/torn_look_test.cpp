// SPDX-License-Identifier: MIT
// Looks whose words were read before and after several writes of other workers.
#include <array>
#include <cstdint>

#include "hashtable/detail/attempt.hpp"
#include "hashtable/detail/entries.hpp"
#include "support/catch.hpp"

using namespace hashtable;
using namespace hashtable::detail;

namespace {

constexpr Shape kOneWord = shape_of(1, 1);
const BucketWord kBucket = BucketWord::make(3, 1, 7);
constexpr std::array<std::uint64_t, 1> kKey{42};
const std::uint64_t kHash = hash_of(kKey.data(), 1);
const std::uint32_t kSlot = first_slot(kHash, kOneWord.slots);

/// A block that read() brings in pieces, and whose words read_word() brings as they are now.
class TornPort {
 public:
  TornPort() {
    for (std::uint32_t i = 0; i < kOneWord.slots; ++i) {
      seen_[kOneWord.word_at(i)] = now_[kOneWord.word_at(i)] = SlotWord::empty(kBucket.birth()).raw;
    }
    seen_[1] = BucketWord{}.held_by(kBucket.life()).raw;
    seen_[kOneWord.key_at(kSlot)] = kKey[0];
  }
  void see_cell(unsigned cell, std::uint32_t count, std::uint64_t value) {
    seen_[kOneWord.cell_at(kSlot, cell)] =
        check_of(kBucket.birth() + count, &value, 1, kKey.data(), 1);
    seen_[kOneWord.cell_at(kSlot, cell) + 1] = value;
  }
  void see_word(std::uint32_t count) { seen_[kOneWord.word_at(kSlot)] = word(count); }
  /// What the slot has after the look.
  void becomes(std::uint32_t count) { now_[kOneWord.word_at(kSlot)] = word(count); }

  const std::uint64_t* read(std::uint32_t /*index*/) const { return seen_.data(); }
  std::uint64_t read_word(std::uint32_t /*index*/, std::uint32_t at) const { return now_[at]; }
  bool swap(std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t) { return false; }
  void write(std::uint32_t, std::uint32_t, const std::uint64_t*, std::uint32_t, std::uint32_t) {}

 private:
  static std::uint64_t word(std::uint32_t count) {
    // The first entry is in cell 1, and each write takes the other one.
    return SlotWord::make(SlotState::kLive, fingerprint_of(kHash), 0, kBucket.birth() + count,
                          count % 2)
        .raw;
  }
  std::array<std::uint64_t, kOneWord.block_words> seen_{};
  std::array<std::uint64_t, kOneWord.block_words> now_{};
};

struct Found {
  Ended ended;
  Status status;
  std::uint64_t value;
};

Found find(TornPort& port) {
  Request<1, 1> request{Operation::kFind, 0, kHash, kKey, {}};
  Seen<1> seen;
  const Attempt tried = attempt(port, kBucket, request, seen, false);
  return {tried.ended, tried.status, request.value[0]};
}

}  // namespace

TEST_CASE("a_key_is_not_missing_because_it_was_updated_twice_during_a_look") {
  TornPort port;
  // The word is of the first entry, and the cells are of the two updates behind it.
  port.see_word(1);
  port.see_cell(0, 2, 6);
  port.see_cell(1, 3, 7);
  port.becomes(3);
  CHECK(find(port).ended == Ended::kAgain);
  CHECK_FALSE(Entries<1, 1>().collect(port, kBucket));
  // The same bytes below a word that has not changed: there is no first entry yet.
  port.becomes(1);
  CHECK(find(port).ended == Ended::kDecided);
  CHECK(find(port).status == Status::kMissing);
  Entries<1, 1> entries;
  CHECK(entries.collect(port, kBucket));
  CHECK(entries.all().empty());
}

TEST_CASE("a_value_is_not_the_one_before_because_it_was_updated_twice_during_a_look") {
  TornPort port;
  // Cell 0 was read before the two updates, and cell 1 behind them.
  port.see_cell(0, 2, 6);
  port.see_word(3);
  port.see_cell(1, 5, 8);
  port.becomes(5);
  CHECK(find(port).ended == Ended::kAgain);
  CHECK_FALSE(Entries<1, 1>().collect(port, kBucket));
  // Below a word that has not changed, the last write is still arriving.
  port.becomes(3);
  CHECK(find(port).status == Status::kDone);
  CHECK(find(port).value == 6);
  Entries<1, 1> entries;
  CHECK(entries.collect(port, kBucket));
  CHECK(entries.all().size() == 1);
}
