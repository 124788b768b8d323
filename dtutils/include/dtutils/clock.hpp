// SPDX-License-Identifier: MIT
// The clock of all layers: that of the machine, or the virtual time of a simulation.
#pragma once

#include <chrono>

#include "dtutils/scheduler.hpp"

namespace dtutils {

/// A clock (std::chrono) with the time points of std::chrono::steady_clock. In a simulated thread
/// it is the virtual time. Any thread, wait-free.
struct Clock {
  using duration = std::chrono::steady_clock::duration;      ///< Nanoseconds.
  using rep = std::chrono::steady_clock::rep;                ///< Their count.
  using period = std::chrono::steady_clock::period;          ///< The unit of the count.
  using time_point = std::chrono::steady_clock::time_point;  ///< A point in time.
  /// It never goes back.
  static constexpr bool is_steady = true;

  /// The time.
  static time_point now() noexcept {
    if (Scheduler* const scheduler = simulated_by()) [[unlikely]] {
      return scheduler->now();
    }
    return std::chrono::steady_clock::now();
  }
};

}  // namespace dtutils
