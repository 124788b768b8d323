// SPDX-License-Identifier: MIT
// What runs of jobs have in common, whoever joins them.
#pragma once

#include <cstdint>
#include <functional>

#include "simulation/simulation.hpp"

namespace simulation {

/// The settings of a process as a node can have them.
dsfabric::Config config_of_a_node(dsfabric::Config config);

/// Runs `body` in each of `nodes` nodes.
dtutils::SimulationReport run_nodes(std::uint32_t nodes, const Options& options,
                                    const std::function<void(std::uint32_t node)>& body);

}  // namespace simulation
