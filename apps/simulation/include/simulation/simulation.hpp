// SPDX-License-Identifier: MIT
// Runs a job of many processes as nodes of a simulated cluster, in one process and in virtual time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "dsfabric/dsfabric.hpp"
#include "dtutils/simulation.hpp"

namespace simulation {

/// What a user may choose about a simulated job.
struct Options {
  /// The seed, the network and its disorder.
  dtutils::SimulationOptions cluster{};
  /// The settings of each process. The device is always `sim`, nothing is pinned, and 0 threads
  /// are one.
  dsfabric::Config config{};
  /// Called before the nodes start: plans faults by Simulation::at.
  std::function<void(dtutils::Simulation&)> plan{};
};

/// What each node does once it has joined.
using Program = std::function<void(dsfabric::Fabric&)>;

/// Runs `program` on each of `nodes` nodes, which make one job. The report names what the first of
/// them has thrown, if one did. The same options and program give the same report, to the digest
/// (Simulation says what a program must keep to). Setup only, outside of simulations.
dtutils::SimulationReport run(std::uint32_t nodes, const Options& options, const Program& program);

/// The calling thread computes for so long; outside of simulations it does nothing. Any thread.
void compute(std::chrono::nanoseconds time) noexcept;

/// Shows in the trace of the run (dtutils::SimulationOptions::trace) that something happened at the
/// calling thread. Printable ASCII. Without a trace, and outside of simulations, nothing. Any
/// thread.
void mark(std::string_view name);

/// Shows in the trace of the run how long something takes, with all that happens in it:
///
///     const simulation::Span span("search");
///
/// Without a trace, and outside of simulations, nothing. It ends on any thread, and belongs to the
/// one that began it.
class Span {
 public:
  /// It begins. Any thread.
  explicit Span(std::string_view name);
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  ~Span();

 private:
  const std::uint64_t span_;
};

/// Ends this process at once, as SIGKILL does; in a simulation its node crashes. Other nodes notice
/// it as they notice any crash. After the run, this throws Error, so that the thread of the node
/// ends (dtutils::Simulation::run). Any thread.
[[noreturn]] void die();

/// Options that differ from those given in what `seed` draws: the disorder of the network, its
/// speed, and a plan of faults that spare at least one node of `nodes`. A run of them may fail, but
/// it ends, and what the program promises in spite of failures holds.
struct Swarm {
  Options options;
  /// What was drawn, in a line.
  std::string description;
  /// Some node crashes, or may be taken for one that did.
  bool failures;
};
/// Draws them. Setup only.
Swarm draw(std::uint64_t seed, std::uint32_t nodes, Options options = {}, bool failures = true);

}  // namespace simulation
