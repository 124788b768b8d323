// SPDX-License-Identifier: MIT
// Pace: yielding and sleeping.
#include "sst/pace.hpp"

#include <sched.h>

#include <thread>

#include "sst/limits.hpp"

namespace sst {

Pace::Pace(const dsfabric::Fabric& fabric, std::uint32_t threads) {
  const dsfabric::MachineId here = fabric.info(fabric.process()).machine;
  std::uint32_t evaluating = 0;
  for (std::uint32_t i = 0; i < fabric.processes(); ++i) {
    if (fabric.info({static_cast<std::uint16_t>(i)}).machine == here) evaluating += threads;
  }
  const bool crowded = evaluating > std::thread::hardware_concurrency();
  spins_ = crowded ? kBusyRoundsCrowded : kBusyRounds;
}

void Pace::relax() noexcept {
  if (idle_ <= spins_ + kYieldRounds) {
    sched_yield();
    return;
  }
  // Stays in this phase: the counter must not wrap round.
  idle_ = spins_ + kYieldRounds;
  std::this_thread::sleep_for(kIdleSleep);
}

}  // namespace sst
