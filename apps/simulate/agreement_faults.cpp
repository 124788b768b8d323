// SPDX-License-Identifier: MIT
// What strikes the nodes of the workload agreement: drawn, and planned.
#include "agreement_faults.hpp"

#include <chrono>
#include <utility>

#include "dtutils/simulation.hpp"

namespace simulate {
namespace {

using std::chrono::microseconds;

class Strike {
 public:
  explicit Strike(std::uint32_t nodes) : nodes_(nodes) {}

  bool plan() {
    if (below(2) == 0) stops();
    if (nodes_ < 2) return true;
    switch (below(6)) {
      case 0:
        return true;
      case 1:
        return deaths();
      case 2:
        return halves();
      case 3:
        return pair();
      case 4:
        return alone();
      default:
        return breaks();
    }
  }

 private:
  std::uint64_t below(std::uint64_t end) { return simulated_.random() % end; }
  std::uint32_t any() { return static_cast<std::uint32_t>(below(nodes_)); }
  /// The one that leads at first, or any other.
  std::uint32_t leader_or_any() { return below(2) == 0 ? 0 : any(); }
  /// Soon, while decisions are in progress.
  std::chrono::nanoseconds soon() {
    return simulated_.time() + std::chrono::nanoseconds(below(below(2) == 0 ? 50'000 : 1'000'000));
  }
  /// Long enough that connections break, mostly.
  microseconds long_enough() { return microseconds(100'000 + below(2'000'000)); }

  void stops() {
    for (std::uint64_t left = 1 + below(3); left != 0; --left) {
      const std::uint32_t node = leader_or_any();
      const microseconds lasts(1 + below(below(2) == 0 ? 300 : 30'000));
      simulated_.at(soon(),
                    [&simulated = simulated_, node, lasts] { simulated.stop(node, lasts); });
    }
  }
  bool deaths() {
    std::uint32_t victim = leader_or_any();
    for (std::uint64_t left = (nodes_ - 1) / 2; left != 0; --left) {
      simulated_.at(soon(), [&simulated = simulated_, victim] { simulated.crash(victim); });
      victim = (victim + 1) % nodes_;
    }
    return true;
  }
  void cut(std::chrono::nanoseconds at, std::uint32_t one, std::uint32_t other,
           microseconds lasts) {
    simulated_.at(
        at, [&simulated = simulated_, one, other, lasts] { simulated.cut(one, other, lasts); });
  }
  bool halves() {
    const auto at = soon();
    const microseconds lasts = long_enough();
    for (std::uint32_t one = 0; one < nodes_ / 2; ++one) {
      for (std::uint32_t other = nodes_ / 2; other < nodes_; ++other) cut(at, one, other, lasts);
    }
    return false;
  }
  bool pair() {
    const std::uint32_t one = leader_or_any();
    cut(soon(), one, static_cast<std::uint32_t>((one + 1 + below(nodes_ - 1)) % nodes_),
        long_enough());
    return false;
  }
  bool alone() {
    const auto at = soon();
    const microseconds lasts = long_enough();
    const std::uint32_t one = leader_or_any();
    for (std::uint32_t other = 0; other < nodes_; ++other) {
      if (other != one) cut(at, one, other, lasts);
    }
    return false;
  }
  bool breaks() {
    for (std::uint64_t left = 1 + below(3); left != 0; --left) {
      simulated_.at(soon(), [&simulated = simulated_] { (void)simulated.break_a_queue_pair(); });
    }
    return false;
  }

  dtutils::Simulation& simulated_ = *dtutils::Simulation::current();
  const std::uint32_t nodes_;
};

}  // namespace

bool strike(std::uint32_t nodes) { return Strike(nodes).plan(); }

}  // namespace simulate
