// SPDX-License-Identifier: MIT
// The list of cases, and what they have in common.
#include "cases.hpp"

#include <array>

#include "dtutils/error.hpp"

namespace scale {

std::span<const Case> cases() noexcept {
  static constexpr std::array kAll{
      Case{"collectives", measure_collectives, 64},
      Case{"table", measure_table, 16, 256, "a table has at most 256 members"},
      Case{"all_to_all", measure_all_to_all, 16},
      Case{"search", measure_search, 4},
  };
  return kAll;
}

void run(const Cluster& cluster, const simulation::Program& program) {
  const dtutils::SimulationReport report = simulation::run(cluster.nodes, cluster.options, program);
  if (report.error.empty()) return;
  throw dtutils::Error("simulation", report.error, "repeat it under a debugger: the seed is known");
}

}  // namespace scale
