// SPDX-License-Identifier: MIT
// A disordered network, for tests of simulated jobs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "simulation/simulation.hpp"

namespace support {

/// Options of a simulation that draws delays, torn writes, losses and orders from the seed.
inline simulation::Options with_seed(std::uint64_t seed) {
  simulation::Options options;
  options.cluster.seed = seed;
  options.cluster.disorder = {std::chrono::microseconds(2), 4, 8, 100, true};
  options.config.superpage = std::size_t{4} << 20;
  return options;
}

}  // namespace support
