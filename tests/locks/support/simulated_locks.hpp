// SPDX-License-Identifier: MIT
// Jobs that lock in a simulation, whose nodes meet at chosen steps of a protocol.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/wait.hpp"
#include "locks/locks.hpp"
#include "simulation/simulation.hpp"

namespace support {

/// What the worker of a node does when it comes to a point of a protocol.
struct SimulatedPoint {
  using Hook = std::function<void(locks::detail::Point)>;
  inline static thread_local Hook hook;
  static void call(locks::detail::Point reached) {
    if (hook) hook(reached);
  }
};

/// Between two looks of who waits.
inline constexpr std::chrono::microseconds kLook{20};

/// Returns when `condition` holds. The nodes share the variables of a test, one of them runs at a
/// time, and the time is virtual: so the other node goes on soon, and always at the same step. Any
/// thread of a node; it does not serve.
inline void await(const std::function<bool()>& condition) {
  while (!condition()) dtutils::sleep_for(kLook);
}

/// The same for a worker, which serves meanwhile.
inline void serve_while_waiting(dsfabric::Thread& self, const std::function<bool()>& condition) {
  while (!condition()) {
    if (!self.progress()) dtutils::sleep_for(kLook);
  }
}

inline std::chrono::nanoseconds virtual_time() { return dtutils::Simulation::current()->time(); }

/// Serves for so long.
inline void serve_for(dsfabric::Thread& self, std::chrono::nanoseconds time) {
  const std::chrono::nanoseconds end = virtual_time() + time;
  serve_while_waiting(self, [&] { return virtual_time() >= end; });
}

/// The node of the calling thread crashes at a point of a protocol, where nothing may be thrown.
/// What it does afterwards is no part of the run.
inline void crash_here() {
  dtutils::Simulation& cluster = *dtutils::Simulation::current();
  cluster.crash(cluster.node());
  dtutils::give_way();
}

/// Runs `work` on one worker of each node, with locks of scheme M; `before` when the node has
/// joined. Nodes may die by simulation::die(), and be given up; the work of the others comes to its
/// end. Empty, or what went wrong: a run that hangs names who waits.
template <class M>
std::string run_nodes(
    std::uint32_t nodes, const std::function<void(dsfabric::Thread&, locks::LockSpace&)>& work,
    const std::function<void(dsfabric::Fabric&)>& before = [](dsfabric::Fabric&) {}) {
  std::uint32_t come = 0;
  simulation::Options job;
  job.cluster.time_limit = std::chrono::seconds(10);
  job.config.superpage = std::size_t{4} << 20;
  job.config.watch_interval = std::chrono::milliseconds(1);
  job.config.leave_timeout = std::chrono::milliseconds(200);
  const auto program = [&](dsfabric::Fabric& fabric) {
    before(fabric);
    bool ended = false;
    try {
      fabric.run([&](dsfabric::Thread& self) {
        locks::LockSpaceOptions options;
        options.locks = 4;
        options.scheme = M::kScheme;
        options.at_point = &SimulatedPoint::call;
        locks::LockSpace space(self, options);
        ++come;
        serve_while_waiting(self, [&] { return come == nodes; });
        work(self, space);
        SimulatedPoint::hook = nullptr;
        ended = true;
      });
    } catch (const dsfabric::PeerFailed&) {
      // The end of run() is a collective.
      if (!ended) throw;
    }
  };
  return simulation::run(nodes, job, program).error;
}

}  // namespace support
