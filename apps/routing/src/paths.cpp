// SPDX-License-Identifier: MIT
// Dijkstra, and what it is checked against.
#include "routing/paths.hpp"

#include <fmt/format.h>

#include <queue>
#include <utility>

namespace routing {

Routes shortest_paths(const Costs& costs, RouterId from) {
  Routes routes{from, std::vector<Routes::Route>(costs.size())};
  routes.to[from.value] = {0, from, from};
  using Entry = std::pair<std::uint64_t, std::uint16_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  open.push({0, from.value});
  while (!open.empty()) {
    const auto [distance, router] = open.top();
    open.pop();
    if (distance != routes.to[router].distance) continue;
    for (std::uint16_t next = 0; next < costs.size(); ++next) {
      const Cost cost = costs.at({router}, {next});
      if (cost == kNoLink || distance + cost >= routes.to[next].distance) continue;
      const RouterId first = router == from.value ? RouterId{next} : routes.to[router].first_step;
      routes.to[next] = {distance + cost, {router}, first};
      open.push({distance + cost, next});
    }
  }
  return routes;
}

std::string check(const Routes& routes, const Costs& costs) {
  const auto size = static_cast<std::uint16_t>(costs.size());
  std::vector<std::uint64_t> shortest(size, kUnreachable);
  shortest[routes.from.value] = 0;
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (std::uint16_t a = 0; a < size; ++a) {
      for (std::uint16_t b = 0; b < size; ++b) {
        const Cost cost = costs.at({a}, {b});
        if (cost == kNoLink || shortest[a] == kUnreachable) continue;
        if (shortest[a] + cost < shortest[b]) {
          shortest[b] = shortest[a] + cost;
          shorter = true;
        }
      }
    }
  }
  for (std::uint16_t i = 0; i < size; ++i) {
    const Routes::Route& route = routes.to[i];
    if (route.distance != shortest[i]) {
      return fmt::format("router {} to {}: {}, the reference says {}", routes.from.value, i,
                         route.distance, shortest[i]);
    }
    if (route.distance == kUnreachable) continue;
    std::uint64_t walked = 0;
    RouterId at{i}, first = at;
    for (std::uint16_t steps = 0; at != routes.from; ++steps) {
      const RouterId before = routes.to[at.value].before;
      const Cost cost = costs.at(before, at);
      if (cost == kNoLink || steps > size) {
        return fmt::format("router {} to {}: no link from {} to {}", routes.from.value, i,
                           before.value, at.value);
      }
      walked += cost;
      first = std::exchange(at, before);
    }
    if (walked != route.distance || (i != routes.from.value && first != route.first_step)) {
      return fmt::format("router {} to {}: the path costs {} and begins with {}, not {} with {}",
                         routes.from.value, i, walked, first.value, route.distance,
                         route.first_step.value);
    }
  }
  return {};
}

}  // namespace routing
