// SPDX-License-Identifier: MIT
// Ordered groups: one order, deaths, leaves, joins, what is refused.
#include "groups/support/ordered_job.hpp"
#include "support/catch.hpp"

using groups::GroupState;
using groups::SendStatus;
using support::ForkJob;
using support::Histories;
using support::Member;
using support::OrderedNode;
using support::require;
using support::require_equal;

namespace {

/// Sends and makes progress as long as `more`.
void send_while(OrderedNode& node, const std::function<bool()>& more, const std::string& what,
                support::Where where = support::Where::current()) {
  node.progress_while(
      [&] {
        for (int i = 0; i < 4; ++i) (void)node.try_send();
        return more();
      },
      what, where);
}

bool is_member(const OrderedNode& node) {
  const auto& members = node.ordered.view().members;
  return std::find(members.begin(), members.end(), node.ordered.process()) != members.end();
}

}  // namespace

TEST_CASE("all_deliver_the_same_messages_in_one_order") {
  const Histories histories;
  constexpr std::uint64_t kEach = 500;
  ForkJob job(3, [&](Member& member) {
    OrderedNode node(member, histories, {.max_message = 100, .slots = 16});
    support::Random random(member.rank);
    node.progress_while(
        [&] {
          if (node.sent < kEach) {
            (void)node.try_send(static_cast<std::uint32_t>(8 + random.below(93)));
          }
          return node.ordered.next_sequence() <= 3 * kEach;
        },
        "all is delivered");
    require(node.ordered.state() == GroupState::kWorking, "it works");
    require_equal(node.ordered.undelivered(), 0u, "undelivered");
    node.meet(0, 3);
  });
  CHECK(job.wait() == "");
  CHECK(histories.check(3) == "");
  CHECK(histories.of(0).size() == 3 * kEach + 1);
}

TEST_CASE("a_death_ends_the_view_and_the_others_go_on") {
  for (const std::uint32_t victim : {0u, 1u, 2u}) {
    const Histories histories;
    ForkJob job(3, [&](Member& member) {
      OrderedNode node(member, histories, {.max_message = 16, .slots = 16});
      if (member.rank == victim) {
        send_while(
            node, [&] { return node.ordered.next_sequence() < 300; }, "some have come");
        member.die();
      }
      send_while(
          node, [&] { return node.ordered.view().id < 2; }, "the next view");
      require_equal(node.ordered.view().left.size(), 1u, "left");
      const std::uint64_t goal = node.sent + 200;
      send_while(
          node, [&] { return node.sent < goal; }, "more is sent");
      node.progress_while([&] { return node.ordered.undelivered() != 0; }, "it is delivered");
      node.meet(0, 2);
    });
    CHECK(job.wait() == std::to_string(victim) + ": signal 9\n");
    CHECK(histories.check(3) == "");
  }
}

TEST_CASE("two_of_five_die_at_once_the_leader_too") {
  const Histories histories;
  ForkJob job(5, [&](Member& member) {
    OrderedNode node(member, histories, {.max_message = 16, .slots = 16});
    if (member.rank < 2) {
      send_while(
          node, [&] { return node.ordered.next_sequence() < 300; }, "some have come");
      member.die();
    }
    send_while(
        node, [&] { return node.ordered.view().members.size() != 3; }, "the next view");
    const std::uint64_t goal = node.sent + 100;
    send_while(
        node, [&] { return node.sent < goal; }, "more is sent");
    node.progress_while([&] { return node.ordered.undelivered() != 0; }, "it is delivered");
    node.meet(0, 3);
  });
  CHECK(job.wait() == "0: signal 9\n1: signal 9\n");
  CHECK(histories.check(5) == "");
}

TEST_CASE("the_leader_dies_at_each_of_its_rounds_while_the_view_changes") {
  for (int round = 1; round <= 16; ++round) {
    INFO("round " << round);
    const Histories histories;
    ForkJob job(5, [&](Member& member) {
      OrderedNode node(member, histories, {.max_message = 16, .slots = 8});
      node.meet(1, 5);
      if (member.rank == 4) {
        send_while(
            node, [&] { return node.ordered.next_sequence() < 100; }, "some have come");
        member.die();
      }
      int changing = 0;
      send_while(
          node,
          [&] {
            const bool now = node.ordered.state() == GroupState::kChanging;
            // Or in the next view, when there were not so many rounds.
            if (member.rank == 0 && (now || changing != 0) && ++changing == round) member.die();
            return node.ordered.view().members.size() != 3;
          },
          "the view of three");
      const std::uint64_t goal = node.sent + 20;
      send_while(
          node, [&] { return node.sent < goal; }, "more is sent");
      node.progress_while([&] { return node.ordered.undelivered() != 0; }, "it is delivered");
      node.meet(0, 3);
    });
    CHECK(job.wait() == "0: signal 9\n4: signal 9\n");
    CHECK(histories.check(5) == "");
  }
}

TEST_CASE("a_minority_stands_still_and_says_so") {
  const Histories histories;
  ForkJob job(3, [&](Member& member) {
    OrderedNode node(member, histories, {.max_message = 16, .slots = 16});
    if (member.rank != 1) {
      send_while(
          node, [&] { return node.ordered.next_sequence() < 50; }, "some have come");
      node.member.memory.words[1]++;
      send_while(
          node, [&] { return member.memory.words[1] < 2; }, "both");
      member.die();
    }
    send_while(
        node, [&] { return node.ordered.state() != GroupState::kMajorityLost; }, "it is alone");
    for (int i = 0; i < 500; ++i) node.step();
    require(node.ordered.state() == GroupState::kMajorityLost, "it stays so");
    const std::uint64_t next = node.ordered.next_sequence();
    for (int i = 0; i < 500; ++i) node.step();
    require_equal(node.ordered.next_sequence(), next, "nothing is delivered any more");
    require(node.try_send() == SendStatus::kWedged, "it cannot send");
    require(node.ordered.view().members.size() >= 2, "no view of a minority");
    require(node.ordered.describe().find("majority lost") != std::string::npos, "in words");
  });
  CHECK(job.wait() == "0: signal 9\n2: signal 9\n");
  CHECK(histories.check(3) == "");
}

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

TEST_CASE("a_stopped_member_is_removed_and_learns_of_it") {
  enum Point : std::size_t { kRunning = 1, kWentOn, kAwake };
  const Histories histories;
  ForkJob job(3, [&](Member& member) {
    OrderedNode node(member, histories,
                     {.max_message = 16, .slots = 16, .patience = std::chrono::milliseconds(300)});
    auto& words = member.memory.words;
    words[kRunning]++;
    if (member.rank == 2) {
      send_while(
          node, [&] { return words[kWentOn] < 2; }, "it is stopped");
      for (int i = 0; i < 20; ++i) (void)node.try_send();
      send_while(
          node,
          [&] {
            return node.ordered.state() != GroupState::kRemoved &&
                   node.ordered.state() != GroupState::kMajorityLost;
          },
          "it is told");
      require(node.try_send() != SendStatus::kAccepted, "it cannot send");
      require_equal(node.ordered.view().id, 1u, "it has no other view");
      words[kAwake] = 1;
      return;
    }
    send_while(
        node, [&] { return node.ordered.view().id < 2; }, "it is removed");
    const std::uint64_t goal = node.sent + 100;
    send_while(
        node, [&] { return node.sent < goal; }, "they go on");
    words[kWentOn]++;
    node.progress_while([&] { return words[kAwake] == 0; }, "it is awake");
    require_equal(node.ordered.view().id, 2u, "nothing else has changed");
    node.meet(0, 2);
  });
  REQUIRE(support::eventually([&] { return job.memory().words[kRunning] == 3; }));
  REQUIRE(support::eventually([&] { return histories.of(2).size() > 50; }));
  job.stop(2);
  REQUIRE(support::eventually([&] { return job.memory().words[kWentOn] == 2; }));
  job.resume(2);
  CHECK(job.wait() == "");
  CHECK(histories.check(3) == "");
}

TEST_CASE("bad_messages_and_bad_options_are_refused") {
  const Histories histories;
  ForkJob job(2, [&](Member& member) {
    OrderedNode node(member, histories, {.senders = {{0}}, .max_message = 16});
    const std::byte bytes[17]{};
    if (member.rank == 0) {
      require(node.ordered.try_send(bytes, 17) == SendStatus::kBadSize, "larger than the limit");
      require(node.ordered.try_send(bytes, 0) == SendStatus::kBadSize, "empty");
      require(!node.ordered.commit(), "nothing is reserved");
    } else {
      require(node.ordered.try_send(bytes, 8) == SendStatus::kNoSender, "no sender");
    }
    node.meet(0, 2);
    const auto refused = [&](groups::GroupOptions options, const char* why) {
      options.name = "bad";
      try {
        groups::OrderedGroup bad(node.group, options, {.deliver = [](const groups::Delivery&) {}});
        support::fail(why);
      } catch (const dtutils::Error& error) {
        require(std::string(error.what()).find(why) != std::string::npos, error.what());
      }
    };
    refused({.members = {{0}, {7}}}, "process 7 is no process of the job");
    refused({.members = {{0}, {0}}}, "process 0 is named twice");
    refused({.max_message = 0}, "messages of 0 bytes");
    refused({.first_view = 0}, "the first view is 0");
    refused({.max_message = 8 + member.rank}, "with other options");
    node.meet(1, 2);
  });
  CHECK(job.wait() == "");
}
