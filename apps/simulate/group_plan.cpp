// SPDX-License-Identifier: MIT
// The choices of the workload groups.
#include "group_plan.hpp"

#include <algorithm>

#include "sst/sst.hpp"

namespace simulate {
namespace {

/// Longest until a process that is outside joins, and until one leaves.
constexpr std::uint64_t kComesNs = 400'000;

}  // namespace

bool has_patience(const Run& run) { return run.options.cluster.seed % 4 == 1; }

groups::GroupOptions group_options(const Run& run) {
  const std::uint64_t seed = run.options.cluster.seed;
  groups::GroupOptions options;
  options.max_message = kMostGroupWords * sizeof(std::uint64_t);
  options.slots = seed % 3 == 0 ? 16 : sst::kMinSlots;
  if (has_patience(run)) options.patience = std::chrono::milliseconds(2);
  // All are members at first, or all but the last ones.
  const std::uint32_t outside = run.nodes > 3 ? static_cast<std::uint32_t>(seed / 2 % 3) : 0;
  for (std::uint16_t i = 0; i < run.nodes - std::min(outside, run.nodes - 3); ++i) {
    options.members.push_back({i});
  }
  if (outside == 0) options.members.clear();
  return options;
}

void GroupPlan::draw() {
  joins_at_ = in(kComesNs);
  if (below(3) == 0) leaves_at_ = in(kComesNs);
  if (!run_.strikes || below(8) != 0) return;
  const dsfabric::ProcessId whom{static_cast<std::uint16_t>(below(run_.nodes))};
  if (whom == fabric_.process()) return;
  suspected_ = whom;
  suspects_at_ = in(below(2) == 0 ? 50'000 : 1'000'000);
  course_.ends = false;
}

void GroupPlan::suspect() {
  if (simulated_.time() < suspects_at_) return;
  suspects_at_ = dtutils::Simulation::kNever;
  fabric_.fail(suspected_, "it was suspected in error");
}

void GroupPlan::come_and_go(groups::OrderedGroup& group) {
  const groups::GroupState state = group.state();
  if (simulated_.time() >= joins_at_ && state == groups::GroupState::kOutside) {
    group.join();
    joined_ = simulated_.time();
    joins_at_ = dtutils::Simulation::kNever;
  } else if (simulated_.time() >= leaves_at_ && state == groups::GroupState::kWorking) {
    group.leave();
    leaves_at_ = dtutils::Simulation::kNever;
    // It comes back, mostly.
    if (below(3) != 0) joins_at_ = in(kComesNs);
  }
}

}  // namespace simulate
