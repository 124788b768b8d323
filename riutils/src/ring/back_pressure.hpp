// SPDX-License-Identifier: MIT
// How fast a worker takes calls while those that its handlers made have no room.
#pragma once

#include <chrono>
#include <cstdint>

#include "dtutils/clock.hpp"

namespace riutils {

/// A handler that answers a call by a call must not lose it, and it cannot wait: while it runs, no
/// other handler of its thread does, and the room that it needs may depend on one. So its calls are
/// queued, and what bounds them is that the worker takes fewer new ones. It does not stop: two
/// workers that answer each other would both wait forever. Instead it rests after each poll for as
/// long as what it holds in excess takes to be sent at 1 GB/s. If the destination takes nothing for
/// t seconds, and each poll makes b bytes, the excess e grows as de/dt = b / (e * 1 ns), so it
/// stays below sqrt(2 * b * 1e9 * t): 6 MB in the first second, and 57 MB after 100, for b = 16
/// KiB.
///
/// One thread at a time.
class BackPressure {
 public:
  using Clock = dtutils::Clock;
  static constexpr Clock::duration kRestPerByte = std::chrono::nanoseconds(1);

  /// Bytes that are queued in excess now.
  void set_excess(std::uint64_t bytes) noexcept { excess_ = bytes; }
  /// False: take calls once.
  bool limits_intake() noexcept { return excess_ != 0 && limits_intake(Clock::now()); }
  bool limits_intake(Clock::time_point now) noexcept {
    if (excess_ == 0) return false;
    if (now < until_) return true;
    until_ = now + kRestPerByte * static_cast<Clock::rep>(excess_);
    return false;
  }

 private:
  std::uint64_t excess_ = 0;
  Clock::time_point until_{};
};

}  // namespace riutils
