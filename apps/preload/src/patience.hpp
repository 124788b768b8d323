// SPDX-License-Identifier: MIT
// How long a thread looks for news before it sleeps: only as long as that pays.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "dtutils/wait.hpp"

namespace preload {

/// The kernel is asked once in so many looks at the streams.
inline constexpr std::uint32_t kLooksPerQuestion = 64;

/// Looks longer after looking has succeeded, and hardly at all after it has failed several times:
/// on a machine with more threads than cores it takes the time that the peer needs to answer. So
/// it also gives the core away, once at least before the thread sleeps, and at once where that has
/// brought the news before: the peer then answers without that either side sleeps, or is woken.
/// Owner thread only.
class Patience {
 public:
  /// Calls `look(count)` until it is true, or long enough. The caller has looked before.
  template <class Look>
  bool spin(Look look) noexcept {
    Clock::time_point now = Clock::now();
    const bool brief = budget_ == kLeast && ++fruitless_ % kSpinsInVain != 0;
    const Clock::time_point end = brief ? now : now + budget_;
    if (spins_without_yields_ != 0) --spins_without_yields_;
    for (std::uint32_t i = 0;; ++i) {
      const bool over = now >= end;
      const bool yields =
          spins_without_yields_ == 0 &&
          (over || (yield_first_ ? i == 0 : i % kLooksPerYield == kLooksPerYield - 1));
      if (yields) {
        yield(now);
      } else if (over) {
        break;
      } else {
        dtutils::cpu_pause();
      }
      if (look(i)) {
        yield_first_ = yields;
        fruitless_ = 0;
        budget_ = std::min(kMost, 2 * budget_);
        return true;
      }
      if (over) break;
      now = Clock::now();
    }
    yield_first_ = false;
    budget_ = std::max(kLeast, budget_ / 2);
    return false;
  }
  std::chrono::nanoseconds budget() const noexcept { return budget_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::nanoseconds kLeast{1'000};
  /// While even that was in vain, one spin in so many looks, and the others only give the core
  /// away.
  static constexpr std::uint32_t kSpinsInVain = 8;
  /// What it takes to fall asleep and to be woken is of this size.
  static constexpr std::chrono::nanoseconds kMost{50'000};
  static constexpr std::uint32_t kLooksPerYield = 16;
  /// Who waits gives the core back sooner; a thread that computes has it for a whole time slice,
  /// for which who is woken does not wait. So many spins do without yields then, and twice as many
  /// after each further time.
  static constexpr std::chrono::nanoseconds kSlowYield{500'000};
  static constexpr std::uint32_t kSpinsAtFirst = 64;
  static constexpr std::uint32_t kSpinsAtMost = 4096;

  void yield(Clock::time_point before) noexcept {
    sched_yield();
    if (Clock::now() - before <= kSlowYield) {
      penalty_ = std::max(penalty_ - 1, kSpinsAtFirst);
      return;
    }
    spins_without_yields_ = penalty_;
    penalty_ = std::min(2 * penalty_, kSpinsAtMost);
  }

  std::chrono::nanoseconds budget_ = kMost;
  /// Spins of the least budget since the last one that brought news.
  std::uint32_t fruitless_ = 0;
  /// The last news came right after a yield.
  bool yield_first_ = false;
  std::uint32_t penalty_ = kSpinsAtFirst;
  std::uint32_t spins_without_yields_ = 0;
};

}  // namespace preload
