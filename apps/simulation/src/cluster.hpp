// SPDX-License-Identifier: MIT
// What runs of jobs have in common, whoever joins them.
#pragma once

#include <cstdint>
#include <functional>

#include "dtutils/simulation.hpp"
#include "launcher.hpp"
#include "simulation/simulation.hpp"

namespace simulation {

/// The settings of a process as a node can have them.
dsfabric::Config config_of_a_node(dsfabric::Config config);

/// Nodes, and where they join.
class Cluster {
 public:
  /// Calls Options::plan.
  Cluster(std::uint32_t nodes, const Options& options);

  Launcher& launcher() noexcept { return launcher_; }
  /// Runs `body` in each of the nodes. Once only.
  dtutils::SimulationReport run(const std::function<void(std::uint32_t node)>& body);

 private:
  const std::uint32_t nodes_;
  dtutils::Simulation simulation_;
  Launcher launcher_;
};

}  // namespace simulation
