// SPDX-License-Identifier: MIT
// NUMA zones by libnuma, with one zone where libnuma has nothing to work with.
#include "dtutils/numa.hpp"

#include <fmt/format.h>
#include <numa.h>
#include <numaif.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <memory>

#include "dtutils/error.hpp"
#include "dtutils/limits.hpp"

namespace dtutils {
namespace {

struct FreeBitmask {
  void operator()(bitmask* mask) const noexcept { numa_bitmask_free(mask); }
};
using Bitmask = std::unique_ptr<bitmask, FreeBitmask>;

std::vector<int> members(const bitmask* mask) {
  std::vector<int> set;
  for (unsigned i = 0; i < mask->size; ++i) {
    if (numa_bitmask_isbitset(mask, i) != 0) {
      set.push_back(static_cast<int>(i));
    }
  }
  return set;
}

/// libnuma takes note of the allowed cores when it is loaded, before any thread was pinned.
std::vector<int> allowed_cores() { return members(numa_all_cpus_ptr); }

void pin_to(const std::vector<int>& cores, const std::string& target) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) {
    if (core >= 0 && core < CPU_SETSIZE) {
      CPU_SET(core, &set);
    }
  }
  const int code = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  if (code != 0) {
    throw Error(target, "the calling thread cannot be pinned there",
                fmt::format("this process may use the cores {}; see taskset(1) and the container's "
                            "cpuset",
                            fmt::join(allowed_cores(), ",")),
                code);
  }
}

}  // namespace

bool has_numa() noexcept {
  // libnuma itself takes a container's EPERM for a yes.
  return ::numa_available() >= 0 && ::get_mempolicy(nullptr, nullptr, 0, nullptr, 0) == 0;
}

std::vector<NumaZone> numa_zones() {
  std::vector<NumaZone> zones;
  if (has_numa()) {
    const Bitmask allowed(numa_get_mems_allowed());
    for (const int node : members(allowed.get())) {
      if (numa_node_size64(node, nullptr) > 0) {
        zones.push_back({static_cast<std::uint16_t>(node)});
      }
    }
  }
  if (zones.empty()) {
    zones.push_back({});
  }
  return zones;
}

NumaZone current_zone() {
  const std::vector<NumaZone> zones = numa_zones();
  unsigned core = 0;
  unsigned node = 0;
  if (zones.size() == 1 || getcpu(&core, &node) != 0) {
    return zones.front();
  }
  const auto distance = [node](NumaZone zone) {
    return zone.node == node ? 0 : numa_distance(static_cast<int>(node), zone.node);
  };
  return *std::min_element(zones.begin(), zones.end(),
                           [&](NumaZone a, NumaZone b) { return distance(a) < distance(b); });
}

std::vector<int> cores_of(NumaZone zone) {
  const std::vector<NumaZone> zones = numa_zones();
  if (std::find(zones.begin(), zones.end(), zone) == zones.end()) {
    std::vector<unsigned> nodes;
    for (const NumaZone known : zones) {
      nodes.push_back(known.node);
    }
    throw Error(fmt::format("NUMA zone {}", zone.node), "this process has no such zone",
                fmt::format("use one of: {}", fmt::join(nodes, ", ")));
  }
  std::vector<int> cores = allowed_cores();
  if (has_numa()) {
    const Bitmask of_node(numa_allocate_cpumask());
    if (numa_node_to_cpus(zone.node, of_node.get()) == 0) {
      std::erase_if(cores, [&](int core) {
        return numa_bitmask_isbitset(of_node.get(), static_cast<unsigned>(core)) == 0;
      });
    }
  }
  return cores;
}

void pin_thread(int core) { pin_to({core}, fmt::format("core {}", core)); }

void pin_thread(NumaZone zone) { pin_to(cores_of(zone), fmt::format("NUMA zone {}", zone.node)); }

std::optional<NumaZone> zone_of(const void* address) noexcept {
  if (!has_numa()) {
    return NumaZone{};
  }
  const auto page = reinterpret_cast<std::uintptr_t>(address) / kPage * kPage;
  void* pages[] = {reinterpret_cast<void*>(page)};
  int node = -1;
  if (::move_pages(0, 1, pages, nullptr, &node, 0) != 0 || node < 0) {
    return std::nullopt;
  }
  return NumaZone{static_cast<std::uint16_t>(node)};
}

}  // namespace dtutils
