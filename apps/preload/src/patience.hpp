// SPDX-License-Identifier: MIT
// How long a thread looks for news before it sleeps: only as long as that pays.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "dtutils/wait.hpp"

namespace preload {

/// The kernel is asked once in so many looks at the streams.
inline constexpr std::uint32_t kLooksPerQuestion = 64;

/// Looks longer after looking has succeeded, and hardly at all after it has failed several times:
/// on a machine with more threads than cores it takes the time that the peer needs to answer.
/// Owner thread only.
class Patience {
 public:
  /// Calls `look(count)` until it is true, or long enough.
  template <class Look>
  bool spin(Look look) noexcept {
    const auto end = Clock::now() + budget_;
    for (std::uint32_t i = 0;; ++i) {
      if (look(i)) {
        budget_ = std::min(kMost, 2 * budget_);
        return true;
      }
      if (Clock::now() >= end) break;
      dtutils::cpu_pause();
    }
    budget_ = std::max(kLeast, budget_ / 2);
    return false;
  }
  std::chrono::nanoseconds budget() const noexcept { return budget_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::nanoseconds kLeast{1'000};
  /// What it takes to fall asleep and to be woken is of this size.
  static constexpr std::chrono::nanoseconds kMost{50'000};
  std::chrono::nanoseconds budget_ = kMost;
};

}  // namespace preload
