// SPDX-License-Identifier: MIT
// Sites, which nodes serve, and moves of nodes between them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dsfabric/ids.hpp"

namespace adaptation {

/// Sites of a job at most.
inline constexpr std::size_t kMaxSites = 64;

/// A site: its number in the list of sites, from 0.
struct SiteId {
  /// The number, from 0.
  std::uint8_t value = 0;
  friend auto operator<=>(const SiteId&, const SiteId&) = default;
};

/// What nodes serve: a web site, a tier, a tenant. All processes give the same list.
struct Site {
  /// For people, and to find out that all mean the same.
  std::string name;
  /// Nodes that it keeps, as long as so many of its nodes live: no move leaves it fewer. At
  /// least 1.
  std::uint32_t minimum = 1;
  /// Its share of the nodes under equal load: one with 2 is given twice the nodes of one with 1
  /// (the soft quality of service of ISPASS 2005). Above 0.
  double share = 1;
};

/// A node goes from one site to another.
struct Move {
  /// The node.
  dsfabric::ProcessId node;
  /// What it served.
  SiteId from;
  /// What it is to serve.
  SiteId to;
  friend bool operator==(const Move&, const Move&) = default;
};

namespace detail {
/// Throws Error unless there are 1 to kMaxSites sites with names of their own and figures that mean
/// something. The same number for equal lists.
std::uint64_t check(const std::vector<Site>& sites);
}  // namespace detail

}  // namespace adaptation
