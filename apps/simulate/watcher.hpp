// SPDX-License-Identifier: MIT
// What sees to the end of a node whose workers wait for others.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "dtutils/joinable_thread.hpp"
#include "dtutils/simulation.hpp"
#include "dtutils/wait.hpp"

namespace simulate {

/// A thread of a node that ends what would go on for ever: waits of one that has crashed end after
/// the run.
class Watcher {
 public:
  Watcher(dsfabric::Fabric& fabric, const std::vector<bool>& over)
      : fabric_(fabric), over_(over), thread_([this] { watch(); }) {}
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() { thread_.join(); }

 private:
  static constexpr std::chrono::microseconds kLook{500};

  void watch() {
    dtutils::Simulation& simulated = *dtutils::Simulation::current();
    const dsfabric::ProcessId here = fabric_.process();
    while (!over_[here.value] && !simulated.crashed(here.value)) {
      dtutils::sleep_for(kLook);
    }
    // It is woken after the run, and waits for locks that nobody tells it the fate of.
    for (std::uint16_t i = 0; i < over_.size() && simulated.crashed(here.value); ++i) {
      if (i != here.value) fabric_.fail({i}, "the run is over");
    }
  }

  dsfabric::Fabric& fabric_;
  const std::vector<bool>& over_;
  dtutils::JoinableThread thread_;
};

/// Says that what it stands for is over, also when it throws.
class AtEnd {
 public:
  explicit AtEnd(std::function<void()> end) : end_(std::move(end)) {}
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() { end_(); }

 private:
  std::function<void()> end_;
};

}  // namespace simulate
