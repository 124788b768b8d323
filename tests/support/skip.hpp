// SPDX-License-Identifier: MIT
// Visible skips of tests that a device cannot run.
#pragma once

#include <string>

#include "support/catch.hpp"
#include "support/device_under_test.hpp"

namespace support {

/// For tests whose subject is the operating system, and so not there on simulated nodes. `why` says
/// what it is, as a sentence. True when the device under test is simulated; then return.
[[nodiscard]] inline bool skipped_on_sim(const std::string& why) {
  if (!on_simulated_device()) return false;
  WARN("SKIPPED: " << why);
  return true;
}

}  // namespace support
