// SPDX-License-Identifier: MIT
// The registered memory of this process, by NUMA zone.
#pragma once

#include <memory>
#include <vector>

#include "dsfabric/config.hpp"
#include "dtutils/general_allocator.hpp"
#include "dtutils/rdma_allocator.hpp"

namespace dsfabric {

/// Memory of one NUMA zone.
struct ZoneMemory {
  ZoneMemory(dtutils::ProtectionDomain& pd, dtutils::NumaZone zone, const Config& config);

  dtutils::RDMAAllocator pages;
  dtutils::GeneralAllocator pieces;
};

/// Any thread, wait-free.
class Zones {
 public:
  /// The first zone is the default one. Setup only.
  Zones(dtutils::ProtectionDomain& pd, const std::vector<dtutils::NumaZone>& zones,
        const Config& config);

  ZoneMemory& first() noexcept { return *all_.front(); }
  /// That of the zone, or of the default zone for any other.
  ZoneMemory& at(dtutils::NumaZone zone) noexcept;
  /// nullptr for any other zone.
  ZoneMemory* find(dtutils::NumaZone zone) noexcept;

 private:
  std::vector<std::unique_ptr<ZoneMemory>> all_;
};

}  // namespace dsfabric
