// SPDX-License-Identifier: MIT
// Runs of simulated jobs.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>

#include "cluster.hpp"
#include "dtutils/descriptor_limit.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "exit_guard.hpp"
#include "simulation/simulation.hpp"

namespace simulation {
dsfabric::Config config_of_a_node(dsfabric::Config config) {
  config.device = "sim";
  config.pin = false;
  config.threads = std::max(config.threads, 1u);
  return config;
}

Cluster::Cluster(std::uint32_t nodes, const Options& options)
    : nodes_(nodes), simulation_(options.cluster), launcher_(simulation_, nodes) {
  // Each node has a few of them.
  dtutils::raise_descriptor_limit();
  guard_exit();
  if (options.plan) options.plan(simulation_);
}

dtutils::SimulationReport Cluster::run(const std::function<void(std::uint32_t node)>& body) {
  for (std::uint32_t node = 0; node < nodes_; ++node) {
    simulation_.start(node, [body, node] { body(node); });
  }
  return simulation_.run();
}

dtutils::SimulationReport run(std::uint32_t nodes, const Options& options, const Program& program) {
  const dsfabric::Config config = config_of_a_node(options.config);
  Cluster cluster(nodes, options);
  return cluster.run([&launcher = cluster.launcher(), config, program](std::uint32_t) {
    dsfabric::Fabric fabric = dsfabric::join(launcher.join(), config);
    try {
      program(fabric);
    } catch (...) {
      // Leaving the job takes time, and makes others throw.
      dtutils::Simulation::current()->caught();
      throw;
    }
  });
}

void die() {
  dtutils::Simulation* const cluster = dtutils::Simulation::current();
  if (cluster == nullptr) {
    (void)raise(SIGKILL);
    std::abort();
  }
  const dtutils::Simulation::Node node = cluster->node();
  cluster->crash(node);
  // It is woken when the run is over.
  dtutils::give_way();
  throw dtutils::Error(fmt::format("node {}", node), "it has crashed", "let its thread end");
}

void compute(std::chrono::nanoseconds time) noexcept {
  if (dtutils::Simulation* const cluster = dtutils::Simulation::current()) cluster->compute(time);
}

void mark(std::string_view name) {
  if (dtutils::Simulation* const cluster = dtutils::Simulation::current()) {
    cluster->mark("mark", name);
  }
}

Span::Span(std::string_view name)
    : span_(dtutils::Simulation::current() != nullptr
                ? dtutils::Simulation::current()->begin_span("mark", name)
                : 0) {}

Span::~Span() {
  if (span_ != 0) dtutils::Simulation::current()->end_span(span_);
}

}  // namespace simulation
