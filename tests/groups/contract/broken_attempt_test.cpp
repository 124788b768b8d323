// SPDX-License-Identifier: MIT
// An attempt at a view with a process that joins comes to nothing, and nobody has died: the process
// does not go on waiting for the tables of that view.
#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "groups/support/ordered_job.hpp"
#include "support/catch.hpp"

using groups::GroupState;
using support::eventually;
using support::ForkJob;
using support::Histories;
using support::is_member;
using support::Member;
using support::OrderedNode;
using support::require;

namespace {

/// Words of the job's memory: from the first one on, rounds of progress that each process has
/// begun; what has happened.
constexpr std::size_t kRounds = 8;
constexpr std::size_t kStopped = 2;
constexpr std::size_t kLost = 3;
constexpr std::size_t kTold = 4;

void step(OrderedNode& node) {
  node.member.memory.words[kRounds + node.member.rank]++;
  node.step();
}

/// Member 2 is stopped; the others, and the process that joins, wait for its tables, each in a call
/// of progress().
void await_waiting(Member& member) {
  auto& words = member.memory.words;
  std::array<std::uint64_t, 3> seen{};
  const bool all_wait = eventually([&] {
    const std::array<std::uint64_t, 3> now{words[kRounds], words[kRounds + 1], words[kRounds + 3]};
    const bool still = words[kStopped] != 0 && now == seen;
    seen = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(still ? 0 : 50));
    return still;
  });
  require(all_wait, "all wait for member 2");
}

/// On a thread beside the one that waits: this member takes others for dead, which live.
void lose(OrderedNode& node, std::initializer_list<std::uint16_t> others) {
  for (const std::uint16_t other : others) node.fabric.fail({other}, "it is taken for dead");
  node.member.memory.words[kLost]++;
}

/// Members 0 and 1 lose each other, and member 2 as well unless a majority is left.
void be_lost(OrderedNode& node, bool majority) {
  auto& words = node.member.memory.words;
  if (node.member.rank == 0) {
    await_waiting(node.member);
    majority ? lose(node, {1}) : lose(node, {1, 2});
  } else if (!majority) {
    require(eventually([&] { return words[kLost] == 1; }), "member 0 has lost the others");
    lose(node, {2});
  }
}

}  // namespace

TEST_CASE("a_process_that_joins_does_not_wait_for_an_attempt_that_is_broken") {
  const bool majority = GENERATE(true, false);
  const Histories histories;
  ForkJob job(4, [&](Member& member) {
    OrderedNode node(member, histories,
                     {.members = {{0}, {1}, {2}}, .max_message = 16, .slots = 8});
    auto& words = member.memory.words;
    node.meet(0, 4);
    if (member.rank == 2) {
      while (node.ordered.state() != GroupState::kChanging) step(node);
      words[kStopped] = 1;
      require(eventually([&] { return words[kTold] != 0; }), "the process goes on");
    } else if (member.rank == 3) {
      node.ordered.join();
      while (words[kLost] != (majority ? 1 : 2)) step(node);
      words[kTold] = 1;
      require(node.ordered.state() == GroupState::kJoining, node.ordered.describe());
    } else {
      std::thread accident([&] { be_lost(node, majority); });
      while (words[kTold] == 0) step(node);
      accident.join();
    }
    // Of members 0 and 1, which lost each other, one goes on with member 2, if any does.
    const auto is_out = [&] {
      const GroupState state = node.ordered.state();
      return state == GroupState::kMajorityLost || state == GroupState::kRemoved;
    };
    const auto is_in = [&] {
      const groups::View& view = node.ordered.view();
      return is_member(node) && view.id != 1 && view.members.size() == 3;
    };
    if (majority || member.rank < 2) {
      node.progress_while([&] { return !is_in() && !(member.rank < 2 && is_out()); }, "its end");
      require(majority || is_out(), node.ordered.describe());
    }
    node.meet(1, 4);
  });
  CHECK(job.wait() == "");
  CHECK(histories.check(4) == "");
}
