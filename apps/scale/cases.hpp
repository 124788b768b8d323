// SPDX-License-Identifier: MIT
// What is measured inside of simulations of many sizes, and what the model expects of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/simulation.hpp"
#include "terms.hpp"

namespace scale {

/// A cluster that a case runs in, with one worker a node.
struct Cluster {
  std::uint32_t nodes;
  simulation::Options options;
  /// How often each thing is measured.
  std::uint32_t repetitions;
};

/// One point of a curve.
struct Point {
  std::string_view curve;
  /// In virtual time, of each repetition: ns, or operations a second.
  std::vector<double> measured;
  /// What it takes by the closed form: ns, or ns for each operation.
  Terms expected;
  bool rate = false;

  /// By the closed form, in the unit of what was measured.
  double expectation() const noexcept { return rate ? 1e9 / expected.total() : expected.total(); }
};

/// One program, which measures one or several curves in one run.
struct Case {
  std::string_view name;
  /// Throws Error when a node does.
  std::vector<Point> (*measure)(const Cluster& cluster);
  /// So many nodes take no second, and show what the closed form is made of.
  std::uint32_t few;
  /// No more nodes, and why; 0: any number.
  std::uint32_t most = 0;
  std::string_view why = {};
};

std::vector<Point> measure_collectives(const Cluster& cluster);
std::vector<Point> measure_table(const Cluster& cluster);
std::vector<Point> measure_all_to_all(const Cluster& cluster);
std::vector<Point> measure_search(const Cluster& cluster);

/// All of them.
std::span<const Case> cases() noexcept;

/// What a curve shows, and why it bends where it does: for the report.
std::string_view explanation(std::string_view curve) noexcept;

/// Runs `program` on the nodes. Throws Error when one of them does.
void run(const Cluster& cluster, const simulation::Program& program);

}  // namespace scale
