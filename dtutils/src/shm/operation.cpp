// SPDX-License-Identifier: MIT
// Waiting, but not without end, for a peer's sender.
#include "shm/operation.hpp"

#include "dtutils/wait.hpp"

namespace dtutils::shm {

bool Operation::wait(std::chrono::steady_clock::time_point end) const noexcept {
  Backoff backoff;
  while (runs()) {
    // Nobody stops a thread of this process for long; and the agent may be busy, so we look
    // ourselves whether the peer died.
    if (!peer->is_self() && (peer->look_whether_dead() || std::chrono::steady_clock::now() > end)) {
      break;
    }
    backoff.pause();
  }
  return !runs();
}

}  // namespace dtutils::shm
