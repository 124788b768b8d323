// SPDX-License-Identifier: MIT
// Jobs of programs of this build, for what a bench cannot do in its own processes.
#pragma once

#include <cstdint>
#include <string>

#include "bench/harness/bench.hpp"

namespace fabric_bench {

struct LaunchedJob {
  std::uint32_t processes = 2;
  /// Relative to the build folder, and its argument.
  std::string program;
  std::string argument = {};
  /// Processes die, and the others go on: the launcher then reports a failure.
  bool with_deaths = false;
};

/// Runs the job by apps/run, on shm and on all cores of the bench, and returns the line that it
/// printed last, behind "[rank] ". Throws Skip when the programs are not built, and in smoke runs
/// for many processes.
std::string run_job(bench::Batch& batch, const LaunchedJob& job);

}  // namespace fabric_bench
