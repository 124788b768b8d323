// SPDX-License-Identifier: MIT
// When a receiver looks at a ring again.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace riutils {

/// In the midst of a stream of single calls, each look at the word that comes next takes its cache
/// line away from the sender, which is about to write there, and each call costs two transfers of
/// the line. So a ring in which every look finds something is left alone for a moment; the sender
/// then writes many calls in one go. A ring whose calls come one at a time, as in a dialogue, never
/// rests. Rests grow with the stream, so that a burst of calls that somebody waits for is not held
/// up by more than an eighth of its own time.
///
/// One thread at a time.
class Attention {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr Clock::duration kLeastRest = std::chrono::nanoseconds(125);
  /// messenger_rate at 64 bytes: 28 M/s with 1 us, 32 with 4 us, 32 with 8 us.
  static constexpr Clock::duration kMostRest = std::chrono::microseconds(4);
  /// A rest takes one part in this many of the time that its stream has lasted.
  static constexpr int kShare = 8;

  /// Poll number `poll` ran `calls` calls, and then there was none. True: nobody looks before the
  /// rest is over.
  bool rests_after(std::uint64_t poll, std::uint64_t calls) noexcept {
    const bool at_once = poll - last_ <= kAtOnce;
    last_ = poll;
    streak_ = at_once && calls >= worth_it_ ? streak_ + 1 : 0;
    if (streak_ < kStreak) {
      worth_it_ = 1;
      return false;
    }
    const Clock::time_point now = Clock::now();
    if (streak_ == kStreak) began_ = now;
    const Clock::duration rest = std::clamp((now - began_) / kShare, kLeastRest, kMostRest);
    until_ = now + rest;
    worth_it_ = std::max<std::uint64_t>(kWorthIt, rest / kLeastRest);
    return true;
  }
  bool over(Clock::time_point now) const noexcept { return now >= until_; }
  /// Poll number `poll` looks again.
  void resume(std::uint64_t poll) noexcept { last_ = poll; }

 private:
  /// Polls from one find to the next that count as one behind the other.
  static constexpr std::uint64_t kAtOnce = 2;
  /// So many of those make a stream.
  static constexpr std::uint32_t kStreak = 16;
  /// Calls that a rest must bring to be followed by another; a long one, one for each kLeastRest.
  static constexpr std::uint64_t kWorthIt = 4;

  std::uint64_t last_ = 0;
  std::uint32_t streak_ = 0;
  /// Calls that the next poll must find for the stream to go on.
  std::uint64_t worth_it_ = 1;
  Clock::time_point began_{};
  Clock::time_point until_{};
};

}  // namespace riutils
