// SPDX-License-Identifier: MIT
// The cross-core cache-line round trip: tells which mood the machine is in.
#pragma once

#include <cstdint>

#include "harness/control_block.hpp"

namespace bench {

/// Both sides of one measurement; process 0 calls measure, process 1 answer, with the same number
/// of trips a chunk. Each writes a line of its own and spins on the other's. Owner thread only.

/// The round trip in ns: the median of kCanaryChunks means over `trips` round trips each.
double measure_round_trip(ControlBlock& block, std::uint64_t trips);

void answer_round_trip(ControlBlock& block, std::uint64_t trips);

}  // namespace bench
