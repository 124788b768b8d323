// SPDX-License-Identifier: MIT
// Versioned: values of more than a word are whole, and never go back.
#include "sst/versioned.hpp"

#include <algorithm>
#include <cstring>

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
  after.store(of(3));
  const std::size_t slot = after.push_order()[1];
  for (std::size_t bytes = 0; bytes < sizeof(before.slots[0]); bytes += 8) {
    Versioned<Value> cut = before;
    std::memcpy(static_cast<void*>(&cut.slots[slot]), &after.slots[slot], bytes);
    CAPTURE(bytes);
    const Value value = cut.load();
    CHECK(value.words[0] == 2);
    CHECK(std::memcmp(&value, before.load().words, sizeof value) == 0);
  }
}

TEST_CASE("a_push_that_is_cut_off_anywhere_leaves_a_value") {
  for (const std::uint64_t stores : {1u, 2u}) {
    Versioned<Value> own{};
    for (std::uint64_t i = 1; i <= 7; ++i) own.store(of(i));
    const Versioned<Value> pushed = own;
    for (std::uint64_t i = 8; i < 8 + stores; ++i) own.store(of(i));
    for (std::size_t bytes = 0; bytes <= sizeof own; bytes += 8) {
      CAPTURE(stores, bytes);
      Versioned<Value> copy = pushed;
      std::size_t left = bytes;
      for (const std::size_t slot : own.push_order()) {
        const std::size_t part = std::min(left, sizeof copy.slots[slot]);
        std::memcpy(static_cast<void*>(&copy.slots[slot]), &own.slots[slot], part);
        left -= part;
      }
      // `load` would look again for ever where `adopt` finds nothing.
      Versioned<Value> reader{};
      REQUIRE(reader.copy_if_newer(copy));
      const Value value = reader.load();
      CHECK(value.words[0] >= 7);
      CHECK(value.words[0] == value.words[5]);
      if (bytes == sizeof own) CHECK(value.words[0] == 7 + stores);
    }
  }
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
