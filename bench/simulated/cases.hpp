// SPDX-License-Identifier: MIT
// What is measured in a simulated cluster, in virtual time: where two cores have too few
// processors, and memory that all share is no network.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>

#include "bench/harness/bench.hpp"
#include "simulation/simulation.hpp"

namespace simulated_bench {

inline void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

/// Runs it on each of `nodes` nodes of one switch, each of which registers about so many bytes; a
/// run that fails fails the bench.
inline void run(std::uint32_t nodes, std::size_t bytes, const simulation::Program& program) {
  simulation::Options options;
  options.config.superpage = bytes;
  const dtutils::SimulationReport report = simulation::run(nodes, options, program);
  if (!report.error.empty()) throw std::runtime_error(report.error);
}

/// Virtual time is the same in each run: one run is a batch. `measure` is told whether a little is
/// enough.
inline bench::Variant variant(const char* name, std::function<double(bool smoke)> measure) {
  return {.name = name, .measure = [measure = std::move(measure)](bench::Batch& batch) {
            return measure(batch.smoke());
          }};
}

void add_lock_cases(bench::Suite& suite);
void add_multicast_cases(bench::Suite& suite);

}  // namespace simulated_bench
