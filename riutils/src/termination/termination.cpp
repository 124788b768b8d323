// SPDX-License-Identifier: MIT
// wait_for_termination: counting calls in waves, until two waves agree.
#include "riutils/termination.hpp"

#include <cstdint>
#include <optional>

#include "dtutils/wait.hpp"
#include "fiber/fiber_pools.hpp"
#include "ring/stations.hpp"
#include "riutils/station.hpp"

// Each wave sums over all workers how many calls were issued (I) and executed (E). It ends when the
// I of a wave equals the E of the wave before (F. Mattern, "Algorithms for distributed termination
// detection", Distributed Computing 2, 1987: the four-counter method). Why that suffices:
//
//  1. A wave is an all_gather, which nobody leaves before all have come. So what a worker saw when
//     it counted for one wave happened before everything that anybody counts for the next.
//  2. A call is counted as issued before it is sent, and as executed after its handler has ended,
//     hence after all calls that this handler made were counted as issued.
//  3. Let E1 be the calls that wave n counted as executed, I2 those that wave n + 1 counted as
//     issued. Each call is executed once, after it was issued, so by 1 every call of E1 is in I2.
//     When there are as many in both, they are the same calls.
//  4. Suppose that a call is not in I2, and take one before which there is none. No program made
//     it, for programs had made their calls before they counted. So a handler made it, that of a
//     call in I2, which is in E1: its handler had ended before wave n counted it, and by 1 and 2
//     the call is in I2 after all. So I2 are all calls that there will ever be, and all are
//     executed.
//
// E counts too few at times, which only costs a wave, but never a call whose fiber waits: a pool
// counts a fiber that waits before its receiver counts the call (FiberPool::suspend), so whoever
// reads first the receivers and then the pools subtracts it. That is why one worker reads those of
// its whole process. Model: tests/riutils/model/termination.pml.

namespace riutils {
namespace {

struct Count {
  std::uint64_t issued = 0;
  std::uint64_t executed = 0;

  friend bool operator==(const Count&, const Count&) = default;
  friend Count operator+(const Count& a, const Count& b) noexcept {
    return {a.issued + b.issued, a.executed + b.executed};
  }
};

/// The first worker of a process counts what was executed there, and the messages.
Count count(dsfabric::Thread& self, const Station& station) {
  Count mine{station.issued(), 0};
  if (self.id().index != 0) return mine;
  dsfabric::Fabric& fabric = self.fabric();
  Stations& stations = *Stations::of(fabric);
  mine.executed = fabric.calls_run();
  for (std::uint32_t i = 0; i < fabric.info(fabric.process()).threads; ++i) {
    mine.executed += stations.at(i).executed();
  }
  mine.executed -= detail::FiberPools::of(fabric)->unfinished();
  mine.issued += fabric.calls_sent();
  return mine;
}

}  // namespace

void wait_for_termination(dsfabric::Thread& self) {
  /// Steps of progress between two waves at most: others wait for this worker.
  constexpr int kSteps = 32;
  Station& station = Station::of(self);
  std::optional<Count> before;
  dtutils::Backoff backoff;
  for (;;) {
    (void)station.flush();
    for (int i = 0; i < kSteps && self.progress(); ++i) {
    }
    (void)station.flush();
    const Count now = self.all_reduce(count(self, station));
    if (before && now.issued == before->executed) return;
    // The same at all workers, so they keep step.
    now == before ? backoff.pause() : backoff.reset();
    before = now;
  }
}

}  // namespace riutils
