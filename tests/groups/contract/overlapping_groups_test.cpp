// SPDX-License-Identifier: MIT
// Subgroups: several ordered groups of one job, with members in common.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "groups/support/ordered_job.hpp"
#include "support/catch.hpp"

using dsfabric::ProcessId;
using groups::GroupState;
using support::ForkJob;
using support::Histories;
using support::Member;
using support::OrderedPart;
using support::require;

namespace {

constexpr std::uint32_t kProcesses = 4;
/// Each pair has members in common, and process 1 is in all.
const std::vector<std::vector<ProcessId>> kGroups{
    {{0}, {1}, {2}}, {{1}, {2}, {3}}, {{0}, {1}, {3}}};

/// The groups of one process. All processes of the job make all groups.
struct Parts : support::TableNode {
  Parts(Member& job_member, const std::vector<Histories>& histories)
      : TableNode(job_member), member(job_member) {
    for (std::size_t i = 0; i < kGroups.size(); ++i) {
      all.push_back(std::make_unique<OrderedPart>(
          group, member.memory.words, histories[i],
          groups::GroupOptions{.members = kGroups[i],
                               .max_message = 16,
                               .slots = 16,
                               .name = "group " + std::to_string(i)}));
      const bool mine =
          std::ranges::count(kGroups[i], ProcessId{static_cast<std::uint16_t>(member.rank)}) != 0;
      if (mine) parts.push_back(all.back().get());
    }
  }
  /// Sends in each of its groups until `done` says so of each.
  template <class Done>
  void send_until(const Done& done, const char* what) {
    require(support::eventually([&] {
              bool all_done = true;
              for (OrderedPart* const part : parts) {
                (void)part->try_send();
                part->step();
                all_done = done(*part) && all_done;
              }
              return all_done;
            }),
            what);
  }

  Member& member;
  std::vector<std::unique_ptr<OrderedPart>> all;
  std::vector<OrderedPart*> parts;
};

void run_job(bool from_another_one_each) {
  const std::vector<Histories> histories(kGroups.size());
  ForkJob job(kProcesses, [&](Member& member) {
    Parts node(member, histories);
    if (from_another_one_each && member.rank != 0) std::ranges::reverse(node.parts);
    const auto has_come = [](std::uint64_t sequence) {
      return [=](OrderedPart& part) { return part.ordered.next_sequence() >= sequence; };
    };
    node.send_until(has_come(200), "messages of all groups");
    if (member.rank == 1) member.die();
    node.send_until([](OrderedPart& part) { return part.ordered.view().id == 2; },
                    "each group has a view without it");
    for (OrderedPart* const part : node.parts) {
      require(part->ordered.view().left == std::vector<ProcessId>{{1}}, "it has left");
    }
    node.send_until(has_come(600), "messages after that");
    ++member.memory.words[0];
    node.send_until([&](OrderedPart&) { return member.memory.words[0] == kProcesses - 1; },
                    "all have come");
  });
  CHECK(job.wait() == "1: signal 9\n");
  for (const Histories& each : histories) CHECK(each.check(kProcesses) == "");
}

}  // namespace

TEST_CASE("groups_with_members_in_common_have_an_order_and_views_each") { run_job(false); }

// Processes 0, 2 and 3 may wait for each other in a circle, each in another group.
TEST_CASE("groups_with_members_in_common_change_their_views_in_any_order") { run_job(true); }
