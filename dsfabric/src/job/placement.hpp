// SPDX-License-Identifier: MIT
// Which cores and NUMA zones the workers of one process get.
#pragma once

#include <cstdint>
#include <vector>

#include "dsfabric/config.hpp"
#include "dtutils/numa.hpp"

namespace dsfabric {

/// A core and the zone it belongs to.
struct PlacedCore {
  int core;
  dtutils::NumaZone zone;
};

struct Placement {
  /// One a worker; empty when workers are not pinned to cores.
  std::vector<int> cores;
  /// One a worker.
  std::vector<dtutils::NumaZone> worker_zones;
  /// All that memory is taken from; the default one first.
  std::vector<dtutils::NumaZone> zones;
};

/// The cores that this process may run on, of the zones that the settings name. Throws Error when
/// there is no such zone. Setup only.
std::vector<PlacedCore> allowed_cores(const Config& config);

/// Places the workers of the process that is number `local_rank` of the `sharing` ones on this
/// machine that may use the same `cores`. Each gets an equal share of the cores; it pins its
/// workers if its share has one for each. Setup only.
Placement place_workers(const Config& config, const std::vector<PlacedCore>& cores,
                        std::uint32_t local_rank, std::uint32_t sharing);

}  // namespace dsfabric
