// SPDX-License-Identifier: MIT
// Draws the mix of disorder and faults of a run.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "simulation/simulation.hpp"

namespace simulation {

Swarm draw(std::uint64_t seed, std::uint32_t nodes, Options options, bool failures) {
  using std::chrono::microseconds;
  std::mt19937_64 engine(seed * 0x9e3779b97f4a7c15u + nodes);
  // Not std::uniform_int_distribution, which differs among standard libraries.
  const auto below = [&](std::uint64_t end) { return end == 0 ? 0 : engine() % end; };
  const auto one_in = [&](std::uint64_t n) { return below(n) == 0; };
  dtutils::SimulationOptions& cluster = options.cluster;
  cluster.seed = seed;
  dtutils::Disorder& disorder = cluster.disorder;
  // Each kind is absent in half of the runs: what hides a fault in one mix is not in another.
  disorder = {};
  if (one_in(2)) disorder.jitter = microseconds(1 + below(50));
  if (one_in(2)) disorder.torn_writes = static_cast<std::uint32_t>(1 + below(8));
  if (one_in(2)) disorder.not_ready = static_cast<std::uint32_t>(2 + below(16));
  if (one_in(4)) disorder.lost = static_cast<std::uint32_t>(20 + below(500));
  disorder.any_order = !one_in(4);
  if (one_in(4)) cluster.model.ports = 2;
  if (one_in(4)) cluster.model.bytes_per_us = static_cast<std::uint32_t>(50 + below(2'000));
  if (one_in(4)) cluster.model.cached_connections = 2;
  std::string text = fmt::format("jitter {} us, torn {}, not ready {}, lost {}, any order {}",
                                 disorder.jitter / microseconds(1), disorder.torn_writes,
                                 disorder.not_ready, disorder.lost, disorder.any_order);
  struct Fault {
    unsigned kind;
    std::uint32_t node;
    std::uint32_t other;
    microseconds at;
    microseconds lasts;
  };
  std::vector<Fault> faults;
  bool fails = false;
  for (std::uint64_t left = below(4); left != 0; --left) {
    const Fault fault{static_cast<unsigned>(below(failures ? 6 : 3)),
                      static_cast<std::uint32_t>(below(std::max(nodes, 2u) - 1) + 1),
                      static_cast<std::uint32_t>(below(nodes)), microseconds(below(3'000)),
                      microseconds(1 + below(one_in(2) ? 300 : 30'000))};
    if (fault.node >= nodes) continue;
    constexpr const char* kNames[] = {"stop", "slow", "delay", "cut", "break a pair", "crash"};
    // Shorter than the tries of the transport, a cut is only a delay; longer, it is a failure.
    fails = fails || fault.kind >= 3;
    text += fmt::format("; {} {} at {} us", kNames[fault.kind], fault.node, fault.at.count());
    faults.push_back(fault);
  }
  // Behind all else, so that seeds of before draw the same.
  if (one_in(2)) disorder.torn_lines = static_cast<std::uint32_t>(1 + below(8));
  text += fmt::format("; torn lines {}", disorder.torn_lines);
  if (one_in(2)) disorder.interrupted = std::uint32_t{2} << below(7);
  text += fmt::format("; interrupted {}", disorder.interrupted);
  const auto before = options.plan;
  options.plan = [before, faults](dtutils::Simulation& simulated) {
    if (before) before(simulated);
    for (const Fault& fault : faults) {
      simulated.at(fault.at, [&simulated, fault] {
        switch (fault.kind) {
          case 0:
            return simulated.stop(fault.node, fault.lasts);
          case 1:
            return simulated.slow_down(fault.node, 20);
          case 2:
            return simulated.delay(fault.node, fault.other, fault.lasts / 10);
          case 3:
            return simulated.cut(fault.node, fault.other, fault.lasts * 40);
          case 4:
            return (void)simulated.break_a_queue_pair();
          default:
            return simulated.crash(fault.node);
        }
      });
    }
  };
  return {std::move(options), std::move(text), fails};
}

}  // namespace simulation
