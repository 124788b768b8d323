// SPDX-License-Identifier: MIT
// The list of workloads, and what they have in common.
#include "workloads.hpp"

#include <array>

#include "dtutils/error.hpp"

namespace simulate {

std::span<const Workload> workloads() noexcept {
  static constexpr std::array kAll{
      Workload{"ring", "calls by rings run once, in order", run_ring},
      Workload{"tree", "no call is left when termination is detected", run_tree},
      Workload{"rounds", "collectives bring what was written, sent and gathered", run_rounds},
      Workload{"agreement", "all decide the same values in the same order", run_agreement},
      Workload{"multicast", "all deliver the same messages in the same order", run_multicast},
  };
  return kAll;
}

Outcome run_checked(const Run& run, const simulation::Program& program,
                    const std::function<std::string()>& check) {
  Outcome outcome;
  outcome.report = simulation::run(run.nodes, run.options, [&](dsfabric::Fabric& fabric) {
    try {
      program(fabric);
    } catch (const dtutils::Error&) {
      if (!run.failures) throw;
    }
  });
  outcome.violation = check();
  const std::string& error = outcome.report.error;
  const bool hangs = error.find("still wait") != std::string::npos;
  if (outcome.violation.empty() && (hangs || !run.failures)) outcome.violation = error;
  return outcome;
}

}  // namespace simulate
