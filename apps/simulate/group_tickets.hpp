// SPDX-License-Identifier: MIT
// Reads without messages of the workload groups.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "dtutils/simulation.hpp"
#include "groups_course.hpp"

namespace simulate {

/// Takes tickets, one after the other: each is for what anybody had delivered when it was taken.
class Tickets {
 public:
  explicit Tickets(GroupCourse& course) : course_(course) {}

  void look(groups::OrderedGroup& group, const GroupCourse::Member& mine) {
    if (ticket_ && group.readable() >= *ticket_) {
      if (mine.next < must_see_) {
        course_.violated(fmt::format("node {} reads before message {}, and {} was delivered",
                                     group.process().value, mine.next, must_see_ - 1));
      }
      ticket_.reset();
    }
    if (ticket_ || taken_ == kMost || dtutils::Simulation::current()->random() % 8 != 0) return;
    ++taken_;
    must_see_ = course_.end();
    ticket_ = group.begin_read();
  }

 private:
  /// So many of a node, so that who waits for others in vain has nothing to do.
  static constexpr std::uint32_t kMost = 40;

  GroupCourse& course_;
  std::uint32_t taken_ = 0;
  std::optional<std::uint64_t> ticket_;
  std::uint64_t must_see_ = 0;
};

}  // namespace simulate
