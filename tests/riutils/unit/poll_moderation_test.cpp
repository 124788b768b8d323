// SPDX-License-Identifier: MIT
// When a receiver leaves a ring alone: in a stream, for a moment; in a dialogue, never.
#include "ring/poll_moderation.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "support/catch.hpp"

using riutils::PollModeration;

namespace {

constexpr std::uint64_t kLong = 1000;
/// Of a ring that no stream here fills.
constexpr std::uint64_t kRoom = std::uint64_t{1} << 40;

/// A ring that its receiver finds empty each time, after a number of calls of 64 bytes.
struct Stream {
  bool find(std::uint64_t poll, std::uint64_t calls, std::uint64_t room = kRoom) {
    found = PollModeration::Clock::now();
    progress.calls += calls;
    progress.bytes += 64 * calls;
    return moderation.pauses_after(poll, progress, room);
  }
  /// Finds `calls` calls in each of `finds` polls, `gap` polls apart; how many of them were
  /// followed by a pause.
  std::uint64_t pauses(std::uint64_t finds, std::uint64_t gap, std::uint64_t calls) {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < finds; ++i) count += find(i * gap, calls);
    return count;
  }
  /// Goes on until pauses are as long as they get; the number of the next poll.
  std::uint64_t last_long() {
    std::uint64_t poll = 0;
    while (!find(poll++, 64)) REQUIRE(poll < kLong);
    // The stream began before its first pause; what came before that is no part of it.
    const auto paused = PollModeration::Clock::now();
    while (PollModeration::Clock::now() - paused <
           PollModeration::kShare * PollModeration::kMaxPause) {
      (void)find(poll++, 64);
    }
    return poll;
  }

  PollModeration moderation;
  PollModeration::Progress progress;
  PollModeration::Clock::time_point found;
};

}  // namespace

TEST_CASE("a_dialogue_never_rests") {
  Stream stream;
  CHECK(stream.pauses(kLong, 10, 1) == 0);
}

TEST_CASE("a_stream_rests_while_rests_bring_calls") {
  Stream stream;
  CHECK(stream.pauses(kLong, 1, 64) > kLong / 2);
}

TEST_CASE("a_rest_that_brings_little_is_the_last_of_its_stream") {
  Stream stream;
  std::uint64_t poll = 0;
  while (!stream.find(poll, 1)) {
    ++poll;
    REQUIRE(poll < kLong);
  }
  stream.moderation.goes_on(poll);
  CHECK_FALSE(stream.find(poll, 1));
  CHECK_FALSE(stream.find(poll + 1, 1));
}

TEST_CASE("a_rest_takes_no_more_than_its_share_of_the_stream") {
  Stream stream;
  const auto began = PollModeration::Clock::now();
  std::uint64_t rested = 0;
  for (std::uint64_t poll = 0; rested < 20 * kLong; ++poll) {
    REQUIRE(poll < 30 * kLong);
    if (!stream.find(poll, 64)) continue;
    ++rested;
    const auto now = PollModeration::Clock::now();
    const auto share = std::max((now - began) / PollModeration::kShare, PollModeration::kMinPause);
    REQUIRE(stream.moderation.over(now + std::min(share, PollModeration::kMaxPause)));
  }
}

TEST_CASE("a_long_rest_must_bring_more_calls") {
  Stream stream;
  const std::uint64_t poll = stream.last_long();
  REQUIRE(stream.find(poll, 64));
  CHECK_FALSE(stream.find(poll + 1, 63));
}

TEST_CASE("what_a_rest_brought_counts_over_all_polls_that_it_takes_to_run_it") {
  Stream stream;
  std::uint64_t poll = stream.last_long();
  REQUIRE(stream.find(poll, 64));
  // Four polls of 16 calls each, as when a chunk ends, or the budget of a poll.
  for (int i = 0; i < 3; ++i) {
    stream.progress.calls += 16;
    stream.moderation.goes_on(++poll);
  }
  CHECK(stream.find(++poll, 16));
}

TEST_CASE("a_rest_ends_when_the_ring_is_half_full") {
  constexpr std::uint64_t kCalls = 64;
  Stream stream;
  std::uint64_t poll = stream.last_long();
  REQUIRE(stream.find(poll++, kCalls));
  REQUIRE(stream.moderation.pause() == PollModeration::kMaxPause);
  for (std::uint64_t i = 0; i < kLong; ++i) {
    const auto began = PollModeration::Clock::now();
    while (PollModeration::Clock::now() - began < 4 * PollModeration::kMinPause) {
    }
    // All of it was filled since the last find, which began before `last`.
    const auto last = stream.found;
    REQUIRE(stream.find(poll++, kCalls, 64 * kCalls));
    const auto half = (PollModeration::Clock::now() - last) / 2;
    REQUIRE(stream.moderation.pause() <= std::max(half, PollModeration::kMinPause));
  }
}
