// SPDX-License-Identifier: MIT
// Who has failed, and who still needs the homes of others.
#include "nodes_course.hpp"

#include <fmt/format.h>

namespace simulate {

NodesCourse::NodesCourse(std::uint32_t nodes, std::uint32_t workers_of_a_node)
    : rounds(std::size_t{nodes} * workers_of_a_node),
      finished(std::size_t{nodes} * workers_of_a_node),
      over(nodes),
      workers_of_a_node_(workers_of_a_node),
      fabrics_(nodes) {}

void NodesCourse::ends(const dsfabric::Fabric& fabric) {
  fabrics_[fabric.process().value] = nullptr;
  over[fabric.process().value] = true;
}

bool NodesCourse::believes_failed(std::uint32_t node, std::uint32_t other) const {
  const dsfabric::Fabric* const fabric = fabrics_[node];
  return fabric != nullptr && fabric->failed({static_cast<std::uint16_t>(other)});
}

bool NodesCourse::disturbed() const {
  for (std::uint32_t node = 0; node < fabrics_.size(); ++node) {
    if (has_crashed(node)) return true;
    if (fabrics_[node] != nullptr && fabrics_[node]->failures() != 0) return true;
  }
  return false;
}

bool NodesCourse::given_up(std::uint32_t node) const {
  if (has_crashed(node)) return true;
  for (std::uint32_t other = 0; other < fabrics_.size(); ++other) {
    if (believes_failed(other, node)) return true;
  }
  return false;
}

bool NodesCourse::unfinished(const dsfabric::Fabric& of, std::uint32_t but) const {
  for (std::uint32_t worker = 0; worker < finished.size(); ++worker) {
    const std::uint32_t node = node_of(worker);
    if (worker != but && !finished[worker] && !over[node] && !has_crashed(node) &&
        !of.failed({static_cast<std::uint16_t>(node)})) {
      return true;
    }
  }
  return false;
}

std::string NodesCourse::check(std::uint32_t wanted, bool failures) const {
  for (std::uint32_t worker = 0; worker < rounds.size() && !failures; ++worker) {
    if (rounds[worker] != wanted && violation.empty()) {
      return fmt::format("worker {} came to {} of {} rounds", worker, rounds[worker], wanted);
    }
  }
  return violation;
}

}  // namespace simulate
