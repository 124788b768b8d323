// SPDX-License-Identifier: MIT
// A member that follows the others late, from view to view.
#include "groups/support/ordered_job.hpp"
#include "support/catch.hpp"

using groups::GroupState;
using support::ForkJob;
using support::Histories;
using support::Member;
using support::OrderedNode;
using support::require;

TEST_CASE("members_that_have_gone_on_to_the_next_view_are_not_lost") {
  constexpr std::uint64_t kChanges = 60;
  const Histories histories;
  ForkJob job(3, [&](Member& member) {
    OrderedNode node(member, histories, {.max_message = 16, .slots = 8});
    const auto is_over = [&] {
      return node.ordered.view().id > kChanges && node.ordered.state() == GroupState::kWorking;
    };
    node.progress_while(
        [&] {
          const GroupState state = node.ordered.state();
          if (member.rank == 0) {
            if (state == GroupState::kWorking && !is_over()) node.ordered.leave();
            if (state == GroupState::kOutside) node.ordered.join();
          }
          // While this one waits, the others come to the next view and leave the tables of this
          // one.
          dtutils::Deadline late(std::chrono::milliseconds(1));
          while (member.rank == 2 && state == GroupState::kChanging && !late.passed()) {
            require(node.ordered.state() != GroupState::kMajorityLost, node.ordered.describe());
          }
          require(state != GroupState::kMajorityLost, node.ordered.describe());
          return !is_over();
        },
        "many views");
    node.meet(0, 3);
  });
  CHECK(job.wait() == "");
  CHECK(histories.check(3) == "");
}
