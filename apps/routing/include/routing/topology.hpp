// SPDX-License-Identifier: MIT
// Which routers there are and how they are linked at first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sst/member.hpp"

namespace routing {

/// A router is a row of the table: its number is that of its process.
using RouterId = sst::MemberId;
/// Of a link, from 1; 0: there is no link.
using Cost = std::uint32_t;
inline constexpr Cost kNoLink = 0;
/// So that sums along any path fit.
inline constexpr Cost kMaxCost = 1'000'000;
inline constexpr std::size_t kMaxRouters = sst::kMaxMembers;

struct Link {
  RouterId from;
  RouterId to;
  Cost cost;
};

/// Names and links, each in one direction. Setup only.
struct Topology {
  std::vector<std::string> names;
  std::vector<Link> links;

  std::size_t size() const noexcept { return names.size(); }
  std::optional<RouterId> find(std::string_view name) const noexcept;
  /// Adds both directions.
  void connect(RouterId a, RouterId b, Cost cost);
};

/// The paper's test network (section 5.8): router 0, the hub, has a link of cost 10 to every other
/// one, and these form a ring of links of cost 50.
Topology hub_and_ring(std::size_t routers);

/// An edge list: a link a line, `FROM TO [COST]`, in both directions; `#` begins a comment. Names
/// are numbered in the order of their appearance. Throws dtutils::Error with the line.
Topology read_edges(std::istream& in, std::string_view name);

/// GraphML as the Internet Topology Zoo has it: nodes, with their `label`, and edges, with the
/// value of `cost` or `weight`, else cost 1. Directed if the graph says so. Of XML it knows
/// elements, attributes, text, comments and the five named entities; it takes no document type
/// definitions. Throws dtutils::Error.
Topology read_graphml(std::istream& in, std::string_view name);

/// By the ending of the name: .graphml, .xml, else an edge list.
Topology read_topology(const std::string& file);

}  // namespace routing
