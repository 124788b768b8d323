// SPDX-License-Identifier: MIT
// The boards of the jobs of a simulation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "board.hpp"
#include "bootstrap.hpp"
#include "dtutils/simulation.hpp"

namespace simulation {

/// All nodes make one job, and when they have joined it and join again, another one: what belongs
/// to an earlier one never comes to a later one.
class Launcher {
 public:
  Launcher(dtutils::Simulation& cluster, std::uint32_t nodes) : cluster_(cluster), joins_(nodes) {
    cluster.on_crash([this](dtutils::Simulation::Node node) {
      for (const auto& board : boards_) board->fail(node);
    });
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  /// The place of the calling node in the next job that it joins. Throws Error.
  std::unique_ptr<BoardBootstrap> join() {
    const dtutils::Simulation::Node node = cluster_.node();
    const std::uint32_t number = joins_[node]++;
    if (number == boards_.size()) add_board();
    return std::make_unique<BoardBootstrap>(*boards_[number], node);
  }

 private:
  void add_board() {
    const auto nodes = static_cast<std::uint32_t>(joins_.size());
    boards_.push_back(std::make_unique<Board>(cluster_, nodes));
    for (std::uint32_t node = 0; node < nodes; ++node) {
      if (cluster_.crashed(node)) boards_.back()->fail(node);
    }
  }

  dtutils::Simulation& cluster_;
  /// Jobs that each node has joined.
  std::vector<std::uint32_t> joins_;
  std::vector<std::unique_ptr<Board>> boards_;
};

}  // namespace simulation
