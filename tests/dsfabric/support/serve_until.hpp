// SPDX-License-Identifier: MIT
// Waits of a worker under test, which serves others meanwhile.
#pragma once

#include "dsfabric/support/fabric_job.hpp"

namespace support {

inline void serve_until(dsfabric::Thread& self, const std::function<bool()>& done) {
  serve_until(self, done, std::chrono::seconds(20));
}

}  // namespace support
