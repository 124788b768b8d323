// SPDX-License-Identifier: MIT
// Pace: yielding and sleeping.
#include "sst/pace.hpp"

#include <algorithm>
#include <cstddef>

#include "dtutils/joinable_thread.hpp"
#include "dtutils/wait.hpp"
#include "sst/table_limits.hpp"

namespace sst {
Pace::Pace(const dsfabric::Fabric& fabric, std::span<const dsfabric::ProcessId> evaluating) {
  const dsfabric::MachineId here = fabric.info(fabric.process()).machine;
  const auto is_here = [&](dsfabric::ProcessId process) {
    return fabric.info(process).machine == here;
  };
  auto neighbours = std::count_if(evaluating.begin(), evaluating.end(), is_here);
  for (std::uint16_t i = 0; evaluating.empty() && i < fabric.founders(); ++i) {
    neighbours += is_here({i});
  }
  // Those that may come to an elastic job may come here.
  if (evaluating.empty()) neighbours += fabric.capacity() - fabric.founders();
  const bool crowded = neighbours > static_cast<std::ptrdiff_t>(dtutils::cores());
  spins_ = crowded ? kBusyRoundsCrowded : kBusyRounds;
}

void Pace::relax() noexcept {
  if (idle_ <= spins_ + kYieldRounds) {
    dtutils::give_way();
    return;
  }
  // Stays in this phase: the counter must not wrap round.
  idle_ = spins_ + kYieldRounds;
  dtutils::sleep_for(kIdleSleep);
}

}  // namespace sst
