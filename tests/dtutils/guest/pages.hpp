// SPDX-License-Identifier: MIT
// The kernel's own word on pages, asked without the code under test.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "dtutils/numa.hpp"

namespace guest {

/// All NUMA zones of a guest.
inline const std::vector<dtutils::NumaZone> kBothZones{{0}, {1}};

/// The NUMA nodes that the 4 KB pages of [address, address + size) lie on (move_pages(2)); -1
/// stands for a page that was never touched.
std::set<int> nodes_of(const void* address, std::size_t size);

/// Free 2 MB pages in the pool of a node.
std::size_t free_huge_pages(int node);
/// HugePages_Free in /proc/meminfo.
std::size_t free_huge_pages();

/// True when `core` is one of the node's, by /sys.
bool core_is_on(int core, int node);

}  // namespace guest
