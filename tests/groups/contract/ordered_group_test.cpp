// SPDX-License-Identifier: MIT
// Ordered groups: one order, deaths, members that were stopped, what is refused.
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
using support::send_while;

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
    const std::string mute =
        support::error_text([&] { groups::OrderedGroup bad(node.group, {.name = "mute"}, {}); });
    require(mute.find("group mute: its upcall for deliveries is empty") != std::string::npos, mute);
    refused({.members = {{0}, {7}}}, "process 7 is no process of the job");
    refused({.members = {{0}, {0}}}, "process 0 is named twice");
    refused({.max_message = 0}, "messages of 0 bytes");
    refused({.first_view = 0}, "the first view is 0");
    refused({.patience = std::chrono::milliseconds(-1)}, "a patience of -1 ms");
    refused({.max_message = 8 + member.rank}, "with other options");
    node.meet(1, 2);
  });
  CHECK(job.wait() == "");
}
