// SPDX-License-Identifier: MIT
// The shm device's small encodings: addresses, retry times, numbers and keys.
#include <infiniband/verbs.h>

#include "shm/address.hpp"
#include "shm/layout.hpp"
#include "software/rnr_timer.hpp"
#include "support/catch.hpp"

using namespace dtutils::shm;
using namespace dtutils::software;

TEST_CASE("shm_address_survives_the_way_through_a_gid") {
  const Address address{4'000'000, 17, 0x0123456789abcdef};
  CHECK(to_address(to_gid(address)) == address);
  CHECK_FALSE(to_address(to_gid(address)) == Address{4'000'000, 17, 0x0123456789abcdee});
}

TEST_CASE("shm_rnr_timer_codes_are_those_of_the_specification") {
  // InfiniBand Architecture Specification, volume 1, table 45.
  CHECK(rnr_timer_microseconds(0) == 655'360);
  CHECK(rnr_timer_microseconds(1) == 10);
  CHECK(rnr_timer_microseconds(12) == 640);
  CHECK(rnr_timer_microseconds(31) == 491'520);
  for (std::uint8_t code = 2; code < 32; ++code) {
    CHECK(rnr_timer_microseconds(code) >
          rnr_timer_microseconds(static_cast<std::uint8_t>(code - 1)));
  }
}

TEST_CASE("shm_retry_time_is_every_try_at_4096_ns_shifted") {
  using std::chrono::microseconds;
  CHECK(retry_time(14, 0) == microseconds(67'108));
  CHECK(retry_time(14, 7) == microseconds(8 * 67'108));
  CHECK(retry_time(0, 0) == microseconds(4));
  CHECK(retry_time(31, 7) > std::chrono::hours(19));
}

TEST_CASE("shm_slot_words_hold_their_parts_at_the_limits") {
  const SlotOwner owner{0xffffff, true};
  const std::uint64_t last_lap = (std::uint64_t{1} << (64 - kLapShift)) - 1;
  const std::uint64_t word = slot_word(last_lap, SlotState::kVoid, owner.bits());
  CHECK(slot_state(word) == SlotState::kVoid);
  CHECK(slot_owner(word) == owner.bits());
  CHECK(laps_ahead(word, last_lap) == 0);
  CHECK(laps_ahead(word, last_lap - 2) == 2);
  CHECK(laps_ahead(word, last_lap + 1) == -1);
  CHECK(word + freeing(word) == slot_word(0, SlotState::kEmpty));
  CHECK(in_lap(word, 7) == slot_word(7, SlotState::kVoid, owner.bits()));
  CHECK(in_lap(word, 7) + freeing(word) == slot_word(8, SlotState::kEmpty));
  CHECK(slot_state(with_state(word, SlotState::kFull)) == SlotState::kFull);
  CHECK(slot_owner(with_state(word, SlotState::kFull)) == owner.bits());
}

TEST_CASE("shm_searchers_leap_to_the_first_position_that_may_be_left") {
  constexpr unsigned kShift = 3;
  CHECK(step_past(5, 0, kShift) == 6);
  CHECK(step_past(5, 1, kShift) == 6);
  CHECK(step_past(5, 2, kShift) == 6);
  CHECK(step_past(5, 3, kShift) == 5 + 8 + 1);
  CHECK(step_past(5, 100, kShift) == 5 + 98 * 8 + 1);
}
