// SPDX-License-Identifier: MIT
// What each process of a test's job has its own of, though its processes may be simulated nodes.
#pragma once

#include <map>
#include <memory>

#include "dtutils/simulation.hpp"

namespace support {

/// One T of each process, for what would be a variable at namespace scope, or a static one: nodes
/// of a simulation share those. Made of `kInitial`, or value-initialized; there from the beginning
/// on if a T can be, for handlers that run before the code that has it as a static variable. Any
/// thread of a job.
template <class T, auto... kInitial>
class PerProcess {
 public:
  T& operator*() {
    const dtutils::Simulation* const simulation = dtutils::Simulation::current();
    // Simulated threads run one at a time.
    if (simulation == nullptr) return own_;
    if (!nodes_) nodes_ = std::make_unique<std::map<dtutils::Simulation::Node, T>>();
    return nodes_->try_emplace(simulation->node(), kInitial...).first->second;
  }
  T* operator->() { return &**this; }

 private:
  T own_ = T(kInitial...);
  std::unique_ptr<std::map<dtutils::Simulation::Node, T>> nodes_;
};

}  // namespace support
