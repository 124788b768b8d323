// SPDX-License-Identifier: MIT
// What tests of rings share: how long their waits may take, and a small ring.
#pragma once

#include <chrono>
#include <functional>

#include "dsfabric/support/fabric_job.hpp"
#include "riutils/riutils.hpp"

namespace support {

inline void serve_until(dsfabric::Thread& self, const std::function<bool()>& done) {
  serve_until(self, done, std::chrono::seconds(25));
}

using RingJob = FabricJob;

/// A small ring, which wraps and fills soon.
inline riutils::RingOptions small_ring() { return {1024, 2, 4, 8192}; }

}  // namespace support
