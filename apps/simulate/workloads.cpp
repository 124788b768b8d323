// SPDX-License-Identifier: MIT
// The list of workloads, and what they have in common.
#include "workloads.hpp"

#include <array>
#include <cstddef>

#include "dtutils/error.hpp"

namespace simulate {

std::span<const Workload> workloads() noexcept {
  static constexpr std::array kAll{
      Workload{"ring", "calls by rings run once, in order", run_ring},
      Workload{"tree", "no call is left when termination is detected", run_tree},
      Workload{"rounds", "collectives bring what was written, sent and gathered", run_rounds},
      Workload{"agreement", "all decide the same values in the same order", run_agreement},
      Workload{"multicast", "all deliver the same messages in the same order", run_multicast},
      Workload{"locks", "no two hold one lock, and who comes first gets it first", run_locks},
      Workload{"memory", "reads are whole, current, and of what is not freed", run_memory},
      Workload{"groups", "all that go on deliver the same through every change", run_groups},
  };
  return kAll;
}

namespace {

/// Whether the report says that threads of nodes wait that have not crashed. Those of the others
/// were woken after the run, and may wait for what they have lost with their network.
bool hangs(const std::string& error) {
  const auto count = [&](std::string_view what) {
    std::size_t found = 0;
    for (std::size_t at = error.find(what); at != std::string::npos;
         at = error.find(what, at + 1)) {
      ++found;
    }
    return found;
  };
  return error.find("still wait") != std::string::npos && count(" of node ") != count(" (crashed)");
}

}  // namespace

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
  if (!error.empty() && (hangs(error) || !run.failures)) {
    outcome.violation += outcome.violation.empty() ? error : "; " + error;
  }
  return outcome;
}

}  // namespace simulate
