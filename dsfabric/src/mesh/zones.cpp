// SPDX-License-Identifier: MIT
// Zones: allocators, and finding them.
#include "mesh/zones.hpp"

namespace dsfabric {
namespace {

dtutils::RDMAAllocatorOptions allocator_options(const Config& config) {
  dtutils::RDMAAllocatorOptions options;
  options.superpage = config.superpage;
  options.limit = config.memory_limit;
  options.limit_name = "the setting memory_limit (CARIAMA_MEMORY_LIMIT)";
  return options;
}

}  // namespace

ZoneMemory::ZoneMemory(dtutils::ProtectionDomain& pd, dtutils::NumaZone zone, const Config& config)
    : pages(pd, zone, allocator_options(config)), pieces(pages) {}

Zones::Zones(dtutils::ProtectionDomain& pd, const std::vector<dtutils::NumaZone>& zones,
             const Config& config) {
  for (const dtutils::NumaZone zone : zones) {
    all_.push_back(std::make_unique<ZoneMemory>(pd, zone, config));
  }
}

ZoneMemory* Zones::find(dtutils::NumaZone zone) noexcept {
  for (const auto& memory : all_) {
    if (memory->pages.zone() == zone) return memory.get();
  }
  return nullptr;
}

ZoneMemory& Zones::at(dtutils::NumaZone zone) noexcept {
  ZoneMemory* const found = find(zone);
  return found != nullptr ? *found : first();
}

}  // namespace dsfabric
