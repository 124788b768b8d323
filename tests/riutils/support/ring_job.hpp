// SPDX-License-Identifier: MIT
// What tests of rings share: their jobs, and a small ring.
#pragma once

#include "dsfabric/support/fabric_job.hpp"
#include "riutils/riutils.hpp"

namespace support {

using RingJob = FabricJob;

/// A small ring, which wraps and fills soon.
inline riutils::RingOptions small_ring() { return {1024, 2, 4, 8192}; }

}  // namespace support
