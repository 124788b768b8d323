// SPDX-License-Identifier: MIT
// Waiting on a Synchronizer.
#include "dtutils/synchronizer.hpp"

#include "dtutils/wait.hpp"
#include "dtutils/wait_hook.hpp"

namespace dtutils {

Synchronizer::Outcome Synchronizer::wait() { return wait_for(std::chrono::nanoseconds::max()); }

Synchronizer::Outcome Synchronizer::wait_for(std::chrono::nanoseconds timeout) {
  // Before the clock is read, which takes longer than a look.
  if (const auto over = outcome()) return *over;
  Deadline deadline(timeout);
  Backoff backoff;
  for (;;) {
    if (const auto over = outcome()) {
      return *over;
    }
    if (deadline.passed()) {
      return Outcome::kTimeout;
    }
    if (run_wait_hook(*this, deadline.end())) {
      backoff.reset();
    } else {
      backoff.pause();
    }
  }
}

}  // namespace dtutils
