// SPDX-License-Identifier: MIT
// What the seed chooses for the workload groups: the group, and what each node does to it.
#pragma once

#include <chrono>
#include <cstdint>

#include "dsfabric/dsfabric.hpp"
#include "dtutils/simulation.hpp"
#include "groups/groups.hpp"
#include "groups_course.hpp"
#include "workloads.hpp"

namespace simulate {

/// A message has at most so many words, all of which are the same.
inline constexpr std::uint64_t kMostGroupWords = 17;

/// Members wait for those that are stopped, and for newcomers, for a short time only.
bool has_patience(const Run& run);
groups::GroupOptions group_options(const Run& run);

/// When one node joins, leaves, and takes another one for dead.
class GroupPlan {
 public:
  GroupPlan(dsfabric::Fabric& fabric, const Run& run, GroupCourse& course)
      : fabric_(fabric), run_(run), course_(course) {}

  /// Some come and go, some take another one for dead that is not.
  void draw();
  /// Does what is due by now.
  void suspect();
  void come_and_go(groups::OrderedGroup& group);

  /// It will join, once it is outside, or leave.
  bool joins() const { return joins_at_ != dtutils::Simulation::kNever; }
  bool leaves() const { return leaves_at_ != dtutils::Simulation::kNever; }
  /// When it asked to join last.
  std::chrono::nanoseconds joined() const { return joined_; }

 private:
  std::uint64_t below(std::uint64_t end) { return simulated_.random() % end; }
  std::chrono::nanoseconds in(std::uint64_t most) {
    return simulated_.time() + std::chrono::nanoseconds(below(most));
  }

  dsfabric::Fabric& fabric_;
  const Run& run_;
  GroupCourse& course_;
  dtutils::Simulation& simulated_ = *dtutils::Simulation::current();
  std::chrono::nanoseconds joins_at_{0};
  std::chrono::nanoseconds joined_{0};
  std::chrono::nanoseconds leaves_at_ = dtutils::Simulation::kNever;
  std::chrono::nanoseconds suspects_at_ = dtutils::Simulation::kNever;
  dsfabric::ProcessId suspected_{0};
};

}  // namespace simulate
