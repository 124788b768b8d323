// SPDX-License-Identifier: MIT
// When a receiver leaves a ring alone: in a stream, for a moment; in a dialogue, never.
#include "ring/attention.hpp"

#include <chrono>
#include <cstdint>

#include "support/catch.hpp"

using riutils::Attention;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kLong = 1000;

/// Finds one call in each of `finds` polls, `gap` polls apart; how many of them were followed by a
/// rest.
std::uint64_t rests(Attention& attention, std::uint64_t finds, std::uint64_t gap,
                    std::uint64_t calls) {
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < finds; ++i) count += attention.rests_after(i * gap, calls);
  return count;
}

}  // namespace

TEST_CASE("a_dialogue_never_rests") {
  Attention attention;
  CHECK(rests(attention, kLong, 10, 1) == 0);
}

TEST_CASE("a_stream_rests_while_rests_bring_calls") {
  Attention attention;
  CHECK(rests(attention, kLong, 1, 8) > kLong / 2);
}

TEST_CASE("a_rest_that_brings_little_is_the_last_of_its_stream") {
  Attention attention;
  std::uint64_t poll = 0;
  while (!attention.rests_after(poll, 1)) {
    ++poll;
    REQUIRE(poll < kLong);
  }
  attention.resume(poll);
  CHECK_FALSE(attention.rests_after(poll, 1));
  CHECK_FALSE(attention.rests_after(poll + 1, 1));
}

TEST_CASE("a_rest_is_over_within_a_microsecond") {
  Attention attention;
  for (std::uint64_t poll = 0; poll < kLong; ++poll) {
    if (!attention.rests_after(poll, 8)) continue;
    const auto now = Attention::Clock::now();
    REQUIRE(attention.over(now + 1us));
  }
}
