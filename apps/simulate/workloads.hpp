// SPDX-License-Identifier: MIT
// Programs with invariants: what the layers promise, checked while many nodes do it.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "simulation/simulation.hpp"

namespace simulate {

/// Nodes give up after this virtual time; failures are noticed within a second.
inline constexpr std::chrono::seconds kLimit{20};

/// One run of a workload.
struct Run {
  std::uint32_t nodes;
  const simulation::Options& options;
  /// Nodes may fail, or be taken for failed: what they have not done is no violation then.
  bool failures;
  /// The workload may plan failures of its own.
  bool strikes;
  /// The workload itself does something wrong, which its invariants must find.
  bool broken;
};

/// How it went.
struct Outcome {
  /// Which invariant was violated, and how; empty when all held.
  std::string violation;
  dtutils::SimulationReport report;
};

struct Workload {
  std::string_view name;
  std::string_view promise;
  Outcome (*run)(const Run& run);
};

/// Messages by rings to two neighbours: each once, in order, under back-pressure.
Outcome run_ring(const Run& run);
/// Calls that call: none is left when termination is detected, and each ran once.
Outcome run_tree(const Run& run);
/// Collectives of all workers and of groups, and what is written and sent between them.
Outcome run_rounds(const Run& run);
/// Decisions by agreement: the same ones in the same order everywhere.
Outcome run_agreement(const Run& run);
/// Messages to all in the order of turns: the same ones in the same order everywhere, and whole.
Outcome run_multicast(const Run& run);
/// Locks of all schemes, and data behind them, while holders and homes fail.
Outcome run_locks(const Run& run);
/// Segments of global memory, read in all ways while they are written, freed and made again.
Outcome run_memory(const Run& run);
/// Messages to a group in one order, while members die, leave and join, and logs of them.
Outcome run_groups(const Run& run);

/// All of them.
std::span<const Workload> workloads() noexcept;

/// Runs `program` on the nodes. Whatever nodes throw is an error of the workload, unless nodes may
/// fail; what never ends always is. `check` looks at what is left, and gives the violation.
Outcome run_checked(const Run& run, const simulation::Program& program,
                    const std::function<std::string()>& check);

}  // namespace simulate
