// SPDX-License-Identifier: MIT
// What workloads whose workers need each other's homes know of all nodes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "dtutils/simulation.hpp"

namespace simulate {

/// How far the workers are, and which nodes have failed in whose eyes; the nodes share it.
class NodesCourse {
 public:
  NodesCourse(std::uint32_t nodes, std::uint32_t workers_of_a_node);

  /// The fabric of a node, from its beginning to its end.
  void begins(dsfabric::Fabric& fabric) { fabrics_[fabric.process().value] = &fabric; }
  void ends(const dsfabric::Fabric& fabric);
  /// Some node has crashed, or believes that another one has.
  bool disturbed() const;
  /// It has crashed, or another one believes it.
  bool given_up(std::uint32_t node) const;
  /// Some worker still uses the homes, as far as this process knows; `but` does not count.
  bool unfinished(const dsfabric::Fabric& of, std::uint32_t but = UINT32_MAX) const;

  void violated(std::string how) {
    if (violation.empty()) violation = std::move(how);
  }
  /// The violation; without one, and without failures, also a worker that did not come to `wanted`
  /// rounds.
  std::string check(std::uint32_t wanted, bool failures) const;

  /// Rounds of each worker.
  std::vector<std::uint32_t> rounds;
  /// Workers and nodes that need no home any more.
  std::vector<bool> finished;
  std::vector<bool> over;
  /// Nodes that were told to die.
  std::uint32_t deaths = 0;
  std::string violation;

 protected:
  static bool has_crashed(std::uint32_t node) {
    return dtutils::Simulation::current()->crashed(node);
  }
  std::uint32_t node_of(std::uint32_t worker) const { return worker / workers_of_a_node_; }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(fabrics_.size()); }
  /// It has begun, and not ended.
  bool is_there(std::uint32_t node) const { return fabrics_[node] != nullptr; }
  bool believes_failed(std::uint32_t node, std::uint32_t other) const;

 private:
  const std::uint32_t workers_of_a_node_;
  /// By node; nullptr: it has ended, or not begun.
  std::vector<const dsfabric::Fabric*> fabrics_;
};

}  // namespace simulate
