// SPDX-License-Identifier: MIT
// When a receiver looks at a ring again.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "dtutils/clock.hpp"

namespace riutils {

/// During a stream of single calls, each look at the word that comes next takes its cache
/// line away from the sender, which is about to write there, and each call costs two transfers of
/// the line. So a ring in which every look finds something is left alone for a moment; the sender
/// then writes many calls in one go. A ring whose calls come one at a time, as in a dialogue, never
/// pauses. Pauses grow with the stream, so that a burst of calls that somebody waits for is not
/// held up by more than an eighth of its own time; and they end before the ring is full.
///
/// One thread at a time.
class PollModeration {
 public:
  using Clock = dtutils::Clock;

  static constexpr Clock::duration kMinPause = std::chrono::nanoseconds(125);
  /// Longer pauses bring nothing more on near cores.
  static constexpr Clock::duration kMaxPause = std::chrono::microseconds(16);
  /// A pause takes one part in this many of the time that its stream has lasted.
  static constexpr int kShare = 8;

  /// What was run of the ring since it was made.
  struct Progress {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
  };

  /// Poll number `poll` ran calls and left more, or looks again after a pause.
  void goes_on(std::uint64_t poll) noexcept { last_ = poll; }
  /// Poll number `poll` ran calls, and then there was none; the ring holds `room` bytes. True:
  /// nobody looks before the pause is over.
  bool pauses_after(std::uint64_t poll, const Progress& progress, std::uint64_t room) noexcept {
    const bool at_once = poll - last_ <= kAtOnce;
    last_ = poll;
    const Progress found{progress.calls - empty_.calls, progress.bytes - empty_.bytes};
    empty_ = progress;
    streak_ = at_once && found.calls >= worth_it_ ? streak_ + 1 : 0;
    if (streak_ < kStreak) {
      worth_it_ = 1;
      return false;
    }
    const Clock::time_point now = Clock::now();
    if (streak_ == kStreak) began_ = emptied_ = now;
    const Clock::duration max = std::min((now - began_) / kShare, half_of(room, now, found.bytes));
    emptied_ = now;
    until_ = now + std::clamp(max, kMinPause, kMaxPause);
    worth_it_ = std::max<std::uint64_t>(kWorthIt, pause() / kPausePerCall);
    return true;
  }
  bool over(Clock::time_point now) const noexcept { return now >= until_; }
  /// The length of the last pause.
  Clock::duration pause() const noexcept { return until_ - emptied_; }

 private:
  /// Polls from one find to the next that count as one behind the other.
  static constexpr std::uint64_t kAtOnce = 2;
  /// So many of those make a stream.
  static constexpr std::uint32_t kStreak = 16;
  /// Calls that a pause must bring to be followed by another; a long one, one for each
  /// kPausePerCall.
  static constexpr std::uint64_t kWorthIt = 4;
  static constexpr Clock::duration kPausePerCall = std::chrono::nanoseconds(250);

  /// Longer times between two pauses are as good as this one.
  static constexpr Clock::duration kLong = std::chrono::milliseconds(1);

  /// How long the sender takes for half of the ring, if it goes on as since the last pause.
  Clock::duration half_of(std::uint64_t room, Clock::time_point now,
                          std::uint64_t bytes) const noexcept {
    const auto took = static_cast<std::uint64_t>(std::min(now - emptied_, kLong).count());
    return Clock::duration(room / 2 * took / std::max<std::uint64_t>(bytes, 1));
  }

  std::uint64_t last_ = 0;
  /// What had been run when the ring was found empty last, and, in a stream, when that was.
  Progress empty_;
  Clock::time_point emptied_{};
  std::uint32_t streak_ = 0;
  /// Calls that the next poll must find for the stream to go on.
  std::uint64_t worth_it_ = 1;
  Clock::time_point began_{};
  Clock::time_point until_{};
};

}  // namespace riutils
