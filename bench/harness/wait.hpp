// SPDX-License-Identifier: MIT
// The one way in which the harness waits for another process.
#pragma once

#include <sched.h>

#include <chrono>
#include <stdexcept>
#include <string>

#include "bench/harness/clock.hpp"
#include "bench/harness/constants.hpp"

namespace bench {

/// Returns once `ready()` is true: spins for some microseconds, then yields its core between looks,
/// so that it also works with more processes than cores. Throws std::runtime_error naming `what`
/// after `limit`. Any thread.
template <class Ready>
void wait_until(Ready&& ready, const char* what, std::chrono::nanoseconds limit = kStepLimit) {
  constexpr int kSpins = 2000;
  for (int i = 0; i < kSpins; ++i) {
    if (ready()) return;
    relax();
  }
  const double deadline = now_ns() + static_cast<double>(limit.count());
  while (!ready()) {
    if (now_ns() > deadline) throw std::runtime_error(std::string("waited too long for ") + what);
    ::sched_yield();
  }
}

}  // namespace bench
