// SPDX-License-Identifier: MIT
// Ordered groups: processes that leave and join, and deaths while they do.
#include "groups/support/ordered_job.hpp"
#include "support/catch.hpp"

using groups::GroupState;
using groups::SendStatus;
using support::ForkJob;
using support::Histories;
using support::is_member;
using support::Member;
using support::OrderedNode;
using support::require;
using support::require_equal;
using support::send_while;

TEST_CASE("a_member_leaves_in_order_and_joins_again") {
  const Histories histories;
  ForkJob job(3, [&](Member& member) {
    OrderedNode node(member, histories, {.max_message = 16, .slots = 16});
    const auto done = [&] { return member.memory.words[1] == 1; };
    if (member.rank == 0) {  // the leader
      send_while(
          node, [&] { return node.sent < 100; }, "some are sent");
      node.ordered.leave();
      require(node.try_send() == SendStatus::kNotMember, "it sends no more");
      node.progress_while([&] { return is_member(node); }, "it is out");
      require(node.ordered.state() == GroupState::kOutside, "outside");
      require_equal(node.ordered.undelivered(), 0u, "what it sent is delivered");
      for (int i = 0; i < 100; ++i) node.step();
      node.ordered.join();
      require(node.ordered.state() == GroupState::kJoining, "joining");
      node.progress_while([&] { return !is_member(node); }, "it is in again");
      send_while(
          node, [&] { return node.sent < 200; }, "more is sent");
      node.progress_while([&] { return node.ordered.undelivered() != 0; }, "it is delivered");
      member.memory.words[1] = 1;
    } else {
      send_while(
          node, [&] { return !done(); }, "the others go on");
      require_equal(node.ordered.view().id, 3u, "view");
    }
    node.progress_while([&] { return node.ordered.undelivered() != 0; }, "all is delivered");
    node.meet(0, 3);
  });
  CHECK(job.wait() == "");
  CHECK(histories.check(3) == "");
}

TEST_CASE("memory_of_views_that_have_ended_is_used_again") {
  constexpr std::uint64_t kChanges = 80;
  const Histories histories;
  ForkJob job(3, [&](Member& member) {
    OrderedNode node(member, histories, {.max_message = 1000, .slots = 64});
    std::size_t early = 0;
    std::size_t late = 0;
    std::uint64_t seen = 0;
    node.progress_while(
        [&] {
          if (member.rank == 2 && node.ordered.view().id <= kChanges) {
            if (is_member(node)) node.ordered.leave();
            if (node.ordered.state() == GroupState::kOutside) node.ordered.join();
          }
          if (seen != node.ordered.view().id) {
            seen = node.ordered.view().id;
            std::size_t& most = seen <= kChanges / 2 ? early : late;
            most = std::max(most, node.fabric.general_allocator().in_use());
          }
          return seen <= kChanges;
        },
        "many views");
    require(late <= early + early / 10, std::to_string(early) + ", " + std::to_string(late));
    node.meet(0, 3);
  });
  CHECK(job.wait() == "");
  CHECK(histories.check(3) == "");
}

TEST_CASE("a_process_joins_with_a_large_state_while_the_group_goes_on") {
  const Histories histories;
  ForkJob job(4, [&](Member& member) {
    OrderedNode node(member, histories,
                     {.members = {{0}, {2}, {3}}, .max_message = 16, .slots = 16}, 1 << 20);
    if (member.rank == 1) {
      require(node.ordered.state() == GroupState::kOutside, "outside");
      require(node.try_send() == SendStatus::kNotMember, "it cannot send");
      require(support::eventually([&] { return member.memory.words[2] != 0; }), "they work");
      node.ordered.join();
    }
    std::uint64_t before = 0;
    node.progress_while(
        [&] {
          if (member.rank != 1) (void)node.try_send();
          if (node.ordered.next_sequence() > 100) member.memory.words[2] = 1;
          if (!is_member(node) || node.ordered.view().members.size() != 4) {
            before = node.ordered.next_sequence();
            return true;
          }
          return false;
        },
        "it is in");
    require_equal(node.ordered.view().joined.size(), 1u, "joined");
    require(before > 100, "the group went on");
    send_while(
        node, [&] { return node.sent < 100; }, "more is sent");
    node.progress_while([&] { return node.ordered.undelivered() != 0; }, "it is delivered");
    node.meet(0, 4);
  });
  CHECK(job.wait() == "");
  CHECK(histories.check(4) == "");
}

TEST_CASE("the_member_that_gives_the_state_dies_and_another_one_gives_it") {
  const Histories histories;
  ForkJob job(4, [&](Member& member) {
    OrderedNode node(member, histories, {.members = {{0}, {1}, {2}}, .max_message = 16, .slots = 8},
                     2 << 20);
    node.meet(1, 4);
    if (member.rank == 3) {
      node.ordered.join();
      node.progress_while([&] { return !is_member(node); }, "it is in");
      member.memory.words[3] = 1;
    } else {
      // The first ticket goes to member 1. Its first snapshot is on its way, for it is large.
      bool asked = false;
      send_while(
          node,
          [&] {
            asked = asked || node.snapshots != 0;
            if (asked && member.rank == 1) member.die();
            return member.memory.words[3] == 0;
          },
          "3 is in");
    }
    node.progress_while([&] { return node.ordered.view().members.size() != 3; }, "0, 2 and 3");
    node.progress_while([&] { return node.ordered.undelivered() != 0; }, "it is delivered");
    node.meet(0, 3);
  });
  CHECK(job.wait() == "1: signal 9\n");
  CHECK(histories.check(4) == "");
}

TEST_CASE("the_member_that_gives_the_state_leaves_and_is_back_before_anybody_looks") {
  const Histories histories;
  ForkJob job(4, [&](Member& member) {
    OrderedNode node(member, histories, {.members = {{0}, {1}, {2}}, .max_message = 16, .slots = 8},
                     2 << 20);
    auto& words = member.memory.words;
    node.meet(1, 4);
    if (member.rank == 3) {
      node.ordered.join();
      node.progress_while([&] { return words[2] == 0; }, "it gets a state");
      words[3] = 1;
      require(support::eventually([&] { return words[4] != 0; }), "its donor is back");
      node.progress_while([&] { return !is_member(node); }, "it is in");
    } else if (member.rank == 1) {
      // The first ticket goes to it. Its snapshot is on its way, for it is large.
      node.progress_while([&] { return node.snapshots == 0; }, "it is asked for the state");
      words[2] = 1;
      require(support::eventually([&] { return words[3] != 0; }), "nobody looks");
      node.ordered.leave();
      node.progress_while([&] { return is_member(node); }, "it is out");
      node.ordered.join();
      node.progress_while([&] { return !is_member(node); }, "it is in again");
      words[4] = 1;
    }
    node.progress_while([&] { return node.ordered.view().members.size() != 4; }, "all are in");
    node.meet(0, 4);
  });
  CHECK(job.wait() == "");
  CHECK(histories.check(4) == "");
}

TEST_CASE("a_process_that_dies_while_it_joins_holds_nobody_up") {
  const Histories histories;
  ForkJob job(4, [&](Member& member) {
    OrderedNode node(member, histories, {.members = {{0}, {1}, {2}}, .max_message = 16, .slots = 8},
                     2 << 20);
    node.meet(1, 4);
    if (member.rank == 3) {
      node.ordered.join();
      for (int i = 0; i < 20; ++i) node.step();
      member.die();
    }
    send_while(
        node, [&] { return !node.fabric.failed({3}); }, "the death is noticed");
    const std::uint64_t goal = node.sent + 100;
    send_while(
        node, [&] { return node.sent < goal; }, "they go on");
    node.progress_while([&] { return node.ordered.undelivered() != 0; }, "it is delivered");
    node.meet(0, 3);
  });
  CHECK(job.wait() == "3: signal 9\n");
  CHECK(histories.check(4) == "");
}
