// SPDX-License-Identifier: MIT
// Something that all nodes begin at one time, and how long it takes until the last has done it.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "dtutils/simulation.hpp"
#include "dtutils/wait.hpp"

namespace scale {

/// One for all nodes, which share it: one of them runs at a time.
class Together {
 public:
  using Time = std::chrono::nanoseconds;

  static Time now() noexcept { return dtutils::Simulation::current()->time(); }

  /// `act()` of all workers, at the same time to the nanosecond. It ends for this worker when `act`
  /// returns. A collective.
  template <class Act>
  void measure(dsfabric::Thread& self, Act act) {
    const bool first = self.id() == dsfabric::ThreadId{};
    // Nobody is in another measurement: the barrier at its end needed this node.
    if (first) begin_ = last_ = now() + kAhead;
    self.barrier();
    dtutils::sleep_for(begin_ - now());
    act();
    last_ = std::max(last_, now());
    self.barrier();
    if (first) took_.push_back(static_cast<double>((last_ - begin_).count()));
    self.barrier();
  }

  /// In ns, but for the first one, which makes connections.
  std::vector<double> results() const {
    return {took_.begin() + std::min<std::ptrdiff_t>(1, std::ssize(took_)), took_.end()};
  }

 private:
  /// Longer than a barrier.
  static constexpr Time kAhead = std::chrono::milliseconds(1);

  Time begin_{0};
  Time last_{0};
  std::vector<double> took_;
};

/// Serves what comes until `done`.
template <class Done>
void serve_until(dsfabric::Thread& self, Done done) {
  dtutils::Backoff backoff;
  while (!done()) self.progress() ? backoff.reset() : backoff.pause();
}

}  // namespace scale
