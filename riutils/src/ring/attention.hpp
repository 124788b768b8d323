// SPDX-License-Identifier: MIT
// When a receiver looks at a ring again.
#pragma once

#include <chrono>
#include <cstdint>

namespace riutils {

/// In the midst of a stream of single calls, each look at the word that comes next takes its cache
/// line away from the sender, which is about to write there, and each call costs two transfers of
/// the line. So a ring in which every look finds something is left alone for a moment; the sender
/// then writes a few dozen calls in one go. With messenger_rate at 64 bytes, together with the
/// cleared headers of IncomingRing::run: 26 instead of 17 M/s. A ring whose calls come one at a
/// time, as in a dialogue, never rests.
///
/// One thread at a time.
class Attention {
 public:
  using Clock = std::chrono::steady_clock;

  /// Poll number `poll` ran `calls` calls, and then there was none. True: nobody looks before the
  /// rest is over.
  bool rests_after(std::uint64_t poll, std::uint64_t calls) noexcept {
    const bool at_once = poll - last_ <= kAtOnce;
    last_ = poll;
    streak_ = at_once && (rest_ == kNone || calls >= kWorthIt) ? streak_ + 1 : 0;
    if (streak_ < kStreak) {
      rest_ = kNone;
      return false;
    }
    rest_ = rest_ == kNone ? kFirstRest : rest_ < kMostRest ? 2 * rest_ : rest_;
    until_ = Clock::now() + rest_;
    return true;
  }
  bool over(Clock::time_point now) const noexcept { return now >= until_; }
  /// Poll number `poll` looks again.
  void resume(std::uint64_t poll) noexcept { last_ = poll; }

 private:
  static constexpr Clock::duration kNone{0};
  static constexpr Clock::duration kFirstRest = std::chrono::nanoseconds(125);
  static constexpr Clock::duration kMostRest = std::chrono::nanoseconds(1000);
  /// Polls from one find to the next that count as one behind the other.
  static constexpr std::uint64_t kAtOnce = 2;
  /// So many of those make a stream.
  static constexpr std::uint32_t kStreak = 16;
  /// Calls that a rest must bring to be followed by another.
  static constexpr std::uint64_t kWorthIt = 4;

  std::uint64_t last_ = 0;
  std::uint32_t streak_ = 0;
  Clock::duration rest_ = kNone;
  Clock::time_point until_{};
};

}  // namespace riutils
