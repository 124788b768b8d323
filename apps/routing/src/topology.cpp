// SPDX-License-Identifier: MIT
// Topologies that are built in, and edge lists.
#include "routing/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "dtutils/error.hpp"

namespace routing {
namespace {

RouterId find_or_add(Topology& topology, const std::string& name) {
  if (const auto known = topology.find(name)) return *known;
  topology.names.push_back(name);
  return {static_cast<std::uint16_t>(topology.size() - 1)};
}

}  // namespace

std::optional<RouterId> Topology::find(std::string_view name) const noexcept {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return std::nullopt;
  return RouterId{static_cast<std::uint16_t>(at - names.begin())};
}

void Topology::connect(RouterId a, RouterId b, Cost cost) {
  links.push_back({a, b, cost});
  links.push_back({b, a, cost});
}

Topology hub_and_ring(std::size_t routers) {
  constexpr Cost kSpoke = 10, kRing = 50;
  Topology topology;
  for (std::size_t i = 0; i < routers; ++i) topology.names.push_back(fmt::format("r{}", i));
  const auto outer = static_cast<std::uint16_t>(routers - 1);
  for (std::uint16_t i = 1; i < routers; ++i) {
    topology.connect({0}, {i}, kSpoke);
    const auto next = static_cast<std::uint16_t>(i % outer + 1);
    // Two on the ring have one link between them, not two.
    if (next != i && !(outer == 2 && i == 2)) topology.connect({i}, {next}, kRing);
  }
  return topology;
}

Topology read_edges(std::istream& in, std::string_view name) {
  Topology topology;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string from, to, rest;
    long cost = 1;
    if (!(words >> from)) continue;
    const bool well = static_cast<bool>(words >> to) && (words >> std::ws).good()
                          ? static_cast<bool>(words >> cost) && !(words >> rest)
                          : !to.empty();
    if (!well || cost < 1 || cost > kMaxCost || from == to) {
      throw dtutils::Error(fmt::format("{}:{}", name, number),
                           fmt::format("\"{}\" is no link", line),
                           fmt::format("write FROM TO COST, with a cost from 1 to {}", kMaxCost));
    }
    const RouterId a = find_or_add(topology, from);
    topology.connect(a, find_or_add(topology, to), static_cast<Cost>(cost));
  }
  return topology;
}

Topology read_topology(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw dtutils::Error(file, "it cannot be read", "name a file with links");
  const bool xml = file.ends_with(".graphml") || file.ends_with(".xml");
  Topology topology = xml ? read_graphml(in, file) : read_edges(in, file);
  if (topology.size() < 2 || topology.size() > kMaxRouters) {
    throw dtutils::Error(file, fmt::format("it has {} routers", topology.size()),
                         fmt::format("use 2 to {}", kMaxRouters));
  }
  return topology;
}

}  // namespace routing
