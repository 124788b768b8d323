// SPDX-License-Identifier: MIT
// Reads /proc and /sys, and asks move_pages(2).
#include "pages.hpp"

#include <fmt/format.h>
#include <numaif.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

#include "dtutils/limits.hpp"
#include "support/require.hpp"

namespace guest {

std::set<int> nodes_of(const void* address, std::size_t size) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  std::vector<void*> pages;
  for (std::uintptr_t page = begin / dtutils::kPage * dtutils::kPage; page < begin + size;
       page += dtutils::kPage) {
    pages.push_back(reinterpret_cast<void*>(page));
  }
  std::vector<int> nodes(pages.size());
  support::require(::move_pages(0, pages.size(), pages.data(), nullptr, nodes.data(), 0) == 0,
                   "move_pages answers");
  std::set<int> found;
  for (const int node : nodes) found.insert(node < 0 ? -1 : node);
  return found;
}

std::size_t free_huge_pages(int node) {
  std::ifstream file(fmt::format(
      "/sys/devices/system/node/node{}/hugepages/hugepages-2048kB/free_hugepages", node));
  std::size_t pages = 0;
  support::require(static_cast<bool>(file >> pages), "the node has a pool of huge pages");
  return pages;
}

std::size_t free_huge_pages() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word && word != "HugePages_Free:") {
  }
  std::size_t pages = 0;
  support::require(static_cast<bool>(file >> pages), "HugePages_Free is in /proc/meminfo");
  return pages;
}

bool core_is_on(int core, int node) {
  return std::filesystem::exists(fmt::format("/sys/devices/system/node/node{}/cpu{}", node, core));
}

}  // namespace guest
