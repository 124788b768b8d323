// SPDX-License-Identifier: MIT
// Shares of cores, and the zones that follow from them.
#include "job/placement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dsfabric/ids.hpp"
#include "dtutils/error.hpp"

namespace dsfabric {

std::vector<PlacedCore> allowed_cores(const Config& config) {
  std::vector<dtutils::NumaZone> zones;
  for (const std::uint16_t node : config.zones) {
    zones.push_back({node});
  }
  if (zones.empty()) {
    zones = dtutils::numa_zones();
  }
  std::vector<PlacedCore> cores;
  for (const dtutils::NumaZone zone : zones) {
    for (const int core : dtutils::cores_of(zone)) {
      cores.push_back({core, zone});
    }
  }
  return cores;
}

Placement place_workers(const Config& config, const std::vector<PlacedCore>& cores,
                        std::uint32_t local_rank, std::uint32_t sharing) {
  const std::size_t begin = cores.size() * local_rank / sharing;
  const std::size_t end = cores.size() * (local_rank + 1) / sharing;
  const std::size_t share = end - begin;
  const std::size_t threads =
      config.threads != 0 ? config.threads : std::max<std::size_t>(share, 1);
  if (threads >= ThreadId::kService) {
    throw dtutils::Error("setting threads", fmt::format("{} are too many workers", threads),
                         fmt::format("use less than {}", ThreadId::kService));
  }

  Placement placement;
  for (std::size_t i = 0; i < threads; ++i) {
    const bool own_core = threads <= share;
    if (own_core && config.pin) {
      placement.cores.push_back(cores[begin + i].core);
    }
    const std::size_t near = own_core ? begin + i : begin;
    placement.worker_zones.push_back(cores.empty() ? dtutils::current_zone()
                                                   : cores[std::min(near, cores.size() - 1)].zone);
  }
  placement.zones = placement.worker_zones;
  for (const std::uint16_t node : config.zones) {
    placement.zones.push_back({node});
  }
  // The first worker's zone stays first: it is the default.
  std::vector<dtutils::NumaZone> unique;
  for (const dtutils::NumaZone zone : placement.zones) {
    if (std::find(unique.begin(), unique.end(), zone) == unique.end()) {
      unique.push_back(zone);
    }
  }
  placement.zones = std::move(unique);
  return placement;
}

}  // namespace dsfabric
