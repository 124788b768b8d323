// SPDX-License-Identifier: MIT
// Runs of simulated jobs.
#include <sys/resource.h>

#include <algorithm>
#include <memory>

#include "bootstrap.hpp"
#include "simulation/simulation.hpp"

namespace simulation {
namespace {

/// Each node has a few descriptors.
void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

dtutils::SimulationReport run(std::uint32_t nodes, const Options& options, const Program& program) {
  raise_descriptor_limit();
  dsfabric::Config config = options.config;
  config.device = "sim";
  config.pin = false;
  config.threads = std::max(config.threads, 1u);
  const auto board = std::make_shared<Board>(nodes);
  dtutils::Simulation cluster(options.cluster);
  if (options.plan) options.plan(cluster);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    cluster.start(node, [board, config, program, node] {
      dsfabric::Fabric fabric =
          dsfabric::join(std::make_unique<BoardBootstrap>(board, node), config);
      program(fabric);
    });
  }
  return cluster.run();
}

void compute(std::chrono::nanoseconds time) noexcept {
  if (dtutils::Simulation* const cluster = dtutils::Simulation::current()) cluster->compute(time);
}

}  // namespace simulation
