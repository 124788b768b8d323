// SPDX-License-Identifier: MIT
// What is measured between batches: tells which mood the machine is in.
#pragma once

#include <cstdint>

#include "bench/harness/control_block.hpp"

namespace bench {

/// How the machine was between two batches.
struct Canary {
  double round_trip_ns = 0;
  double core_speed = 1;  // of the slower of the cores of processes 0 and 1, as CoreSpeed says
};

/// Both sides of one measurement; process 0 calls measure, process 1 answer, with the same number
/// of trips a chunk. Each writes a line of its own and spins on the other's. Owner thread only.

/// The round trip in ns: the median of kCanaryChunks means over `trips` round trips each.
double measure_round_trip(ControlBlock& block, std::uint64_t trips);

void answer_round_trip(ControlBlock& block, std::uint64_t trips);

}  // namespace bench
