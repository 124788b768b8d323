// SPDX-License-Identifier: MIT
// Versioned: values of more than a word are whole, and never go back.
#include "sst/versioned.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "sst/detail/word.hpp"
#include "support/catch.hpp"
#include "support/device_under_test.hpp"
#include "support/threads.hpp"

using namespace sst;

namespace {

struct Value {
  std::uint64_t words[6];
};

Value of(std::uint64_t number) {
  Value value;
  for (std::uint64_t& word : value.words) word = number;
  return value;
}

}  // namespace

TEST_CASE("a_wide_of_zeros_holds_zeros") {
  const Versioned<Value> wide{};
  CHECK(wide.load().words[5] == 0);
}

TEST_CASE("a_wide_gives_back_what_was_stored") {
  Versioned<Value> wide{};
  for (std::uint64_t i = 1; i < 5; ++i) {
    wide.store(of(i));
    CHECK(wide.load().words[0] == i);
    CHECK(wide.load().words[5] == i);
  }
}

TEST_CASE("a_writer_that_stops_in_a_slot_leaves_the_value_before") {
  // The bytes of one store, cut off anywhere: as a device that dies leaves them.
  Versioned<Value> before{};
  before.store(of(1));
  before.store(of(2));
  Versioned<Value> after = before;
  const std::size_t slot = after.store(of(3));
  for (std::size_t bytes = 0; bytes < sizeof(before.slots[0]); bytes += 8) {
    Versioned<Value> cut = before;
    std::memcpy(static_cast<void*>(&cut.slots[slot]), &after.slots[slot], bytes);
    CAPTURE(bytes);
    const Value value = cut.load();
    CHECK(value.words[0] == 2);
    CHECK(std::memcmp(&value, before.load().words, sizeof value) == 0);
  }
}

TEST_CASE("a_push_that_is_cut_off_anywhere_leaves_a_value_whatever_was_stored_before_it") {
  for (const std::uint64_t stores : {0u, 1u, 2u, 3u, 4u, 9u}) {
    // What the owner has, what it keeps of what others have, and what they have.
    Versioned<Value> own{}, pushed{};
    for (std::uint64_t i = 1; i <= 7; ++i) own.store(of(i));
    detail::store_pushed(pushed, own);
    const Versioned<Value> there = pushed;
    for (std::uint64_t i = 8; i < 8 + stores; ++i) own.store(of(i));
    const std::size_t slot = pushed.store(own.load());
    const auto cut_off = [&](void* begin, const void* from, std::size_t bytes,
                             Versioned<Value>& copy, bool whole) {
      CAPTURE(stores, bytes);
      std::memcpy(begin, from, bytes);
      // `load` would look again forever where this finds nothing.
      Versioned<Value> reader{};
      REQUIRE(reader.copy_if_newer(copy));
      const Value value = reader.load();
      const bool is_whole = std::count(std::begin(value.words), std::end(value.words),
                                       value.words[0]) == std::ssize(value.words);
      CHECK(is_whole);
      CHECK((value.words[0] == 7 + stores || (!whole && value.words[0] == 7)));
    };
    for (std::size_t bytes = 0; bytes <= sizeof own.slots[0]; bytes += 8) {
      Versioned<Value> copy = there;
      cut_off(&copy.slots[slot], &pushed.slots[slot], bytes, copy, bytes == sizeof own.slots[0]);
    }
    // As a part of a row that is pushed as a whole.
    for (std::size_t bytes = 0; bytes <= sizeof own; bytes += 8) {
      Versioned<Value> copy = there;
      cut_off(&copy, &pushed, bytes, copy, bytes == sizeof own);
    }
  }
}

TEST_CASE("a_value_that_a_write_has_followed_is_refused_while_the_one_after_that_is_in_progress") {
  // What a reader sees of two slots at two moments: somebody else may have seen write 3 already.
  Versioned<Value> seen{}, later{}, reader{};
  for (std::uint64_t i = 1; i <= 2; ++i) seen.store(of(i));
  for (std::uint64_t i = 1; i <= 3; ++i) later.store(of(i));
  seen.slots[1] = later.slots[1];
  REQUIRE(reader.copy_if_newer(seen));
  CHECK(reader.load().words[0] == 3);
  // Write 5 in place of write 3.
  seen.slots[1].front = seen.slots[1].back = 5 << 1 | 1;
  CHECK_FALSE(Versioned<Value>{}.copy_if_newer(seen));
  // Write 3, still in progress, behind write 2.
  seen.slots[1].front = seen.slots[1].back = 3 << 1 | 1;
  CHECK(Versioned<Value>{}.copy_if_newer(seen));
}

TEST_CASE("a_reader_never_sees_part_of_a_write_nor_an_older_one") {
  Versioned<Value> wide{};
  std::atomic<bool> stop{false};
  support::Threads threads;
  threads.start([&] {
    for (std::uint64_t i = 1; !stop; ++i) wide.store(of(i));
  });
  std::uint64_t last = 0;
  bool whole = true, forward = true;
  const auto begin = std::chrono::steady_clock::now();
  for (auto now = begin; now < begin + std::chrono::milliseconds(300) ||
                         (last == 0 && now < begin + support::kPatience);
       now = std::chrono::steady_clock::now()) {
    const Value value = wide.load();
    for (const std::uint64_t word : value.words) whole = whole && word == value.words[0];
    forward = forward && value.words[0] >= last;
    last = value.words[0];
  }
  stop = true;
  threads.join();
  CHECK(whole);
  CHECK(forward);
  CHECK(last > 0);
}

TEST_CASE("adopting_takes_only_what_is_newer") {
  Versioned<Value> from{}, to{};
  from.store(of(1));
  CHECK(to.copy_if_newer(from));
  CHECK(to.load().words[0] == 1);
  const Versioned<Value> old = from;
  from.store(of(2));
  // Which lies where the first one did.
  from.store(of(3));
  CHECK(to.copy_if_newer(from));
  CHECK(to.copy_if_newer(old));
  CHECK(to.load().words[0] == 3);
}
