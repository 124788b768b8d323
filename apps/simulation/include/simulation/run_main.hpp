// SPDX-License-Identifier: MIT
// Runs whole programs, from their main on, as nodes of a simulated cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulation/enter.hpp"
#include "simulation/simulation.hpp"

namespace simulation {

/// How the nodes have ended.
struct MainReport {
  /// Of the run. Its digest is also that of what the nodes have printed.
  dtutils::SimulationReport run;
  /// What each node's main has returned; -1 where it has not.
  std::vector<int> statuses;

  /// 0 when all went well; else that of the first node that returned another one, or 1.
  int status() const noexcept;
};

/// Enters `program` in each of `nodes` nodes, each with its copy of `arguments`, of which the first
/// is the name of the program. There join() finds the other nodes, on the device `sim`, whatever
/// the program says about the device and the cores. Of `options.config` only `superpage` and
/// `receive_depth` count, where the program leaves these as they are. Meanwhile each line that a
/// node prints through stdio or std::cout, std::cerr, std::clog has "[node] " in front. Setup only,
/// outside of simulations; one at a time in a process.
MainReport run_main(std::uint32_t nodes, const Options& options, Main program,
                    const std::vector<std::string>& arguments);

}  // namespace simulation
