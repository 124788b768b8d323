// SPDX-License-Identifier: MIT
// poll(2), again after each signal and where its int of milliseconds is too short for the time.
#include "dtutils/poll_until.hpp"

#include <algorithm>
#include <cerrno>

namespace dtutils {
namespace {

using std::chrono::milliseconds;
using PollClock = std::chrono::steady_clock;

constexpr milliseconds kLongestPoll{1'000'000};

}  // namespace

int poll_until(std::span<pollfd> descriptors, PollClock::time_point end) noexcept {
  for (;;) {
    // `end` may be so early that the difference has no number.
    const PollClock::time_point now = PollClock::now();
    const bool is_last = end <= now || end - now <= kLongestPoll;
    milliseconds limit = kLongestPoll;
    if (is_last) limit = std::chrono::ceil<milliseconds>(std::max(end, now) - now);
    const int found =
        ::poll(descriptors.data(), descriptors.size(), static_cast<int>(limit.count()));
    if (found > 0 || (found == 0 && is_last) || (found < 0 && errno != EINTR)) return found;
  }
}

int poll_until(int descriptor, short events, PollClock::time_point end) noexcept {
  pollfd entry{descriptor, events, 0};
  return poll_until(std::span(&entry, 1), end);
}

}  // namespace dtutils
