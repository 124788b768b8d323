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

/// A thread of a node that ends what would go on for ever: a process without a way to itself is
/// crashed, and waits of one that has crashed end after the run.
class Watcher {
 public:
  Watcher(dsfabric::Fabric& fabric, const std::vector<bool>& over, std::uint32_t workers)
      : fabric_(fabric), over_(over), workers_(workers), thread_([this] { watch(); }) {}
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() { thread_.join(); }

 private:
  static constexpr std::chrono::microseconds kLook{500};

  void watch() {
    dtutils::Simulation& simulated = *dtutils::Simulation::current();
    const dsfabric::ProcessId here = fabric_.process();
    while (!over_[here.value] && !simulated.crashed(here.value)) {
      // Nobody else notices that the way of a process to itself broke, by which workers grant each
      // other locks: it is the end of the process.
      if (lost_itself()) simulated.crash(here.value);
      dtutils::sleep_for(kLook);
    }
    // It is woken after the run, and waits for locks that nobody tells it the fate of.
    for (std::uint16_t i = 0; i < over_.size() && simulated.crashed(here.value); ++i) {
      if (i != here.value) fabric_.fail({i}, "the run is over");
    }
  }
  bool lost_itself() const {
    for (std::uint32_t worker = 0; worker < workers_; ++worker) {
      dtutils::Transmitter& own = fabric_.transmitter_of(worker, fabric_.process());
      if (own.queue_pair().state() == IBV_QPS_ERR) return true;
    }
    return false;
  }

  dsfabric::Fabric& fabric_;
  const std::vector<bool>& over_;
  const std::uint32_t workers_;
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
