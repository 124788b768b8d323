// SPDX-License-Identifier: MIT
// When a receiver leaves a ring alone: in a stream, for a moment; in a dialogue, never.
#include "ring/attention.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "support/catch.hpp"

using riutils::Attention;

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
  CHECK(rests(attention, kLong, 1, 64) > kLong / 2);
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

TEST_CASE("a_rest_takes_no_more_than_its_share_of_the_stream") {
  Attention attention;
  const auto began = Attention::Clock::now();
  std::uint64_t rested = 0;
  for (std::uint64_t poll = 0; rested < 20 * kLong; ++poll) {
    REQUIRE(poll < 30 * kLong);
    if (!attention.rests_after(poll, 64)) continue;
    ++rested;
    const auto now = Attention::Clock::now();
    const auto share = std::max((now - began) / Attention::kShare, Attention::kLeastRest);
    REQUIRE(attention.over(now + std::min(share, Attention::kMostRest)));
  }
}

TEST_CASE("a_long_rest_must_bring_more_calls") {
  Attention attention;
  const auto began = Attention::Clock::now();
  std::uint64_t poll = 0;
  // Until rests are as long as they get.
  while (Attention::Clock::now() - began < 2 * Attention::kShare * Attention::kMostRest) {
    (void)attention.rests_after(poll++, 64);
  }
  REQUIRE(attention.rests_after(poll++, 64));
  CHECK_FALSE(attention.rests_after(poll, 31));
}
