// SPDX-License-Identifier: MIT
// What the Space and the Clients of a process share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "dsfabric/fabric.hpp"
#include "home.hpp"
#include "memory/options.hpp"

namespace memory::detail {

/// The memory of one zone of a process.
struct ZoneMemory {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t rkey;
};

/// A home, as others reach it.
struct HomeThere {
  /// Of its Home.
  std::uint64_t address = 0;
  std::vector<ZoneMemory> zones;
};

struct SpaceState {
  explicit SpaceState(dsfabric::Fabric& its) : fabric(its) {}

  dsfabric::Fabric& fabric;
  SpaceOptions options;
  /// The layout of versioned segments, the same in the whole job.
  bool lines = false;
  std::vector<HomeThere> homes;
  /// The zones of all homes, `zones_each` for each of them.
  std::vector<ZoneMemory> zones;
  std::uint32_t zones_each = 0;
  const ZoneMemory& zone(const Place& place) const noexcept {
    return zones[place.home().value * zones_each + place.zone()];
  }
  /// It lives as long as the fabric: requests may come later than the end of the Space.
  std::shared_ptr<Home> home;
  /// Processes that have failed and were cut off; grows only.
  std::atomic<std::uint32_t> failures{0};

  std::mutex clients_mutex;
  /// Numbers that Clients have now.
  std::vector<bool> clients;

  std::mutex clock_mutex;
  /// Causal requests that process i has made to home h, as far as known here: [h * processes + i].
  std::vector<std::uint64_t> clock;
};

}  // namespace memory::detail
