// SPDX-License-Identifier: MIT
// Link costs, and shortest paths over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "routing/topology.hpp"

namespace routing {

/// The cost of every link, as one router knows it. Owner thread only.
class Costs {
 public:
  explicit Costs(std::size_t routers) : size_(routers), costs_(routers * routers, kNoLink) {}
  explicit Costs(const Topology& topology) : Costs(topology.size()) {
    for (const Link& link : topology.links) at(link.from, link.to) = link.cost;
  }

  std::size_t size() const noexcept { return size_; }
  Cost& at(RouterId from, RouterId to) noexcept { return costs_[from.value * size_ + to.value]; }
  Cost at(RouterId from, RouterId to) const noexcept {
    return costs_[from.value * size_ + to.value];
  }

 private:
  std::size_t size_;
  std::vector<Cost> costs_;
};

inline constexpr std::uint64_t kUnreachable = std::numeric_limits<std::uint64_t>::max();

/// From one router to every other one.
struct Routes {
  struct Route {
    /// Sum of costs; kUnreachable when there is no path.
    std::uint64_t distance = kUnreachable;
    /// The router before the last step, and the first step; of the router itself: itself.
    RouterId before{};
    RouterId first_step{};
  };
  RouterId from{};
  std::vector<Route> to;
};

/// Dijkstra with a heap; of equal paths the one that was found first.
Routes shortest_paths(const Costs& costs, RouterId from);

/// Compares with a reference that shares no code with shortest_paths (Bellman and Ford: every link
/// is tried until nothing gets shorter), and walks along each route. Empty when all is well, else
/// what is wrong.
std::string check(const Routes& routes, const Costs& costs);

}  // namespace routing
