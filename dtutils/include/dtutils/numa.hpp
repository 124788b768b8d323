// SPDX-License-Identifier: MIT
// NUMA zones: which there are, where a thread runs, where a page lies; one zone where there is
// none.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

namespace dtutils {

/// A node of the kernel that has memory, by its number. On a machine (or in a container) that does
/// not offer the NUMA system calls there is one zone, number 0, and it holds everything.
struct NumaZone {
  /// The number of the node.
  std::uint16_t node = 0;
  friend auto operator<=>(const NumaZone&, const NumaZone&) = default;
};

/// False when the kernel or the container refuses the NUMA system calls (numa(3)); all functions
/// below work in that case too. Any thread.
bool has_numa() noexcept;

/// The zones this process may take memory from, ascending; never empty. Setup only.
std::vector<NumaZone> numa_zones();

/// The zone of the core that the calling thread runs on now; where that core's node has no memory,
/// the closest zone. Lasting only for a pinned thread. Any thread.
NumaZone current_zone();

/// The cores of the zone that this process was allowed to use when it started, ascending. Empty for
/// a zone of memory without cores. Throws Error when there is no such zone. Setup only.
std::vector<int> cores_of(NumaZone zone);

/// Restricts the calling thread to one core, or to the cores of one zone. Throws Error when that is
/// not possible, and says which cores are. Setup only.
void pin_thread(int core);
/// Restricts the calling thread to the cores of a zone. Throws Error. Setup only.
void pin_thread(NumaZone zone);

/// Where the page that holds `address` lies; empty when it was never touched or is not mapped. Does
/// not touch the page (move_pages(2)). Any thread; a system call.
std::optional<NumaZone> zone_of(const void* address) noexcept;

}  // namespace dtutils
