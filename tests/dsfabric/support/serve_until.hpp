// SPDX-License-Identifier: MIT
// Waits of a worker under test, which serves others meanwhile.
#pragma once

#include <chrono>
#include <functional>

#include "dsfabric/dsfabric.hpp"
#include "dtutils/wait.hpp"
#include "support/require.hpp"

namespace support {

/// Makes progress until `done`, within a time.
inline void serve_until(dsfabric::Thread& self, const std::function<bool()>& done) {
  dtutils::Deadline deadline(std::chrono::seconds(20));
  dtutils::Backoff backoff;
  while (!done()) {
    require(!deadline.passed(), "what was awaited did not come");
    self.progress() ? backoff.reset() : backoff.pause();
  }
}

}  // namespace support
