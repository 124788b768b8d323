// SPDX-License-Identifier: MIT
// What an operation that is made again and again knows of its tries, and when the next one is due.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "dtutils/wait.hpp"

namespace memory::detail {

/// A try in vain is answered by one of two: a writer who goes on, which raises the version, or the
/// home, which knows whether there is a segment and whether anybody writes. So no pointer, and
/// nothing that was written over a segment, makes an operation repeat for ever. A writer that is
/// stopped under its lock holds it up until it goes on or has failed.
class Tries {
 public:
  /// The next one was in vain, and found this version or lock word. True when the home is to be
  /// asked: after every kEach tries that found nothing new.
  bool ask_after(std::uint64_t found) noexcept {
    if (found != found_) {
      found_ = found;
      count_ = 0;
      since_ = {};
    }
    return ++count_ % kEach == 0;
  }
  /// Where the home cannot be asked: whether there was nothing new for kLongest.
  bool too_long() noexcept {
    const dtutils::Clock::time_point now = dtutils::Clock::now();
    if (since_ == dtutils::Clock::time_point{}) since_ = now;
    return now - since_ > kLongest;
  }

  dtutils::Backoff backoff;

 private:
  static constexpr std::uint32_t kEach = 64;
  static constexpr std::chrono::seconds kLongest{2};
  std::uint32_t count_ = 0;
  std::uint64_t found_ = 0;
  dtutils::Clock::time_point since_{};
};

/// When a request that its home has sent back is made again. Each time the home looks for a free
/// lock for some microseconds, in which it serves nobody else, so the pause grows with the time
/// that the lock was not free. As a 64th of that time it is still short beside the times for which
/// the lock has been held and free, so a request misses few of the latter.
class Resend {
 public:
  /// The home has sent it back.
  void sent_back() noexcept {
    const dtutils::Clock::time_point now = dtutils::Clock::now();
    if (since_ == dtutils::Clock::time_point{}) since_ = now;
    due_ = now + std::min<dtutils::Clock::duration>((now - since_) / 64, kLongest);
  }
  /// Whether it is time.
  bool due() const noexcept {
    return due_ == dtutils::Clock::time_point{} || dtutils::Clock::now() >= due_;
  }

 private:
  static constexpr std::chrono::milliseconds kLongest{1};
  dtutils::Clock::time_point since_{};
  dtutils::Clock::time_point due_{};
};

}  // namespace memory::detail
