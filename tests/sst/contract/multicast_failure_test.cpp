// SPDX-License-Identifier: MIT
// Multicast when a member dies, is stopped, or ends its part.
#include "sst/support/multicast_job.hpp"
#include "support/catch.hpp"

using namespace sst;
using support::DeliveryLog;
using support::ForkJob;
using support::Member;
using support::MulticastNode;
using support::require;
using support::require_equal;

namespace {

/// Sends as long as `more`, whatever the answer.
void send_while(MulticastNode& node, const std::function<bool()>& more, const std::string& what) {
  node.evaluate_while(
      [&] {
        for (int i = 0; i < 8; ++i) (void)node.try_send(16);
        return more();
      },
      what);
}

}  // namespace

TEST_CASE("without_order_the_others_go_on_without_a_dead_receiver") {
  const DeliveryLog log(3);
  ForkJob job(3, [&](Member& member) {
    MulticastNode node(member, log, {.senders = {{0}, {1}}, .max_message = 16, .slots = 8});
    if (member.rank == 2) {
      node.evaluate_while([&] { return node.delivered() < 20; }, "some have come");
      member.die();
    }
    send_while(
        node, [&] { return !node.multicast.gone({2}); }, "the death is noticed");
    require(!node.multicast.stopped(), "nothing has ended");
    require(node.multicast.why_stopped().empty(), "so there is no reason");
    // Many rounds of the ring, which the dead one gives no slot of back any more.
    support::Random random(member.rank);
    node.send_all(node.sent + 500, 16, random);
    node.evaluate_while([&] { return node.multicast.delivered_by_all() < node.multicast.sent(); },
                        "delivered");
    member.memory.words[member.rank] = node.sent;
    node.evaluate_while([&] { return member.memory.words[1 - member.rank] == 0; }, "the other");
    node.evaluate_while([&] { return node.delivered() < member.memory.words[1 - member.rank]; },
                        "all of the other");
    member.memory.words[2]++;
    node.evaluate_while([&] { return member.memory.words[2] < 2; }, "both are done");
  });
  CHECK(job.wait() == "2: signal 9\n");
  CHECK(log.check_each_sender() == "");
}

TEST_CASE("by_turns_the_order_ends_in_words_when_a_member_dies") {
  // The dead one sends, or only receives.
  for (const std::uint16_t victim : {std::uint16_t{0}, std::uint16_t{2}}) {
    const DeliveryLog log(3);
    ForkJob job(3, [&](Member& member) {
      MulticastNode node(member, log,
                         {.senders = {{0}, {1}},
                          .order = Order::kByTurns,
                          .max_message = 16,
                          .slots = 8,
                          .name = "orders"});
      if (member.rank == victim) {
        send_while(
            node, [&] { return node.delivered() < 100; }, "some have come");
        member.die();
      }
      send_while(
          node, [&] { return !node.multicast.stopped(); }, "the death is noticed");
      const SendStatus expected = member.rank == 2 ? SendStatus::kNoSender : SendStatus::kStopped;
      require(node.try_send(16) == expected, "sending ends");
      const std::string why = node.multicast.why_stopped();
      require(why.find("process " + std::to_string(victim) + " failed: ") != std::string::npos,
              why);
      member.memory.words[0]++;
      node.evaluate_while([&] { return member.memory.words[0] < 2; }, "both have noticed");
      for (int i = 0; i < 100; ++i) node.multicast.evaluate();
      log.of(member.rank).received = node.multicast.table().mine(&MulticastRow::received);
      member.memory.words[1]++;
      node.evaluate_while([&] { return member.memory.words[1] < 2; }, "both are done");
    });
    CHECK(job.wait() == std::to_string(victim) + ": signal 9\n");
    CHECK(log.check_each_sender() == "");
    CHECK(log.check_same_order() == "");
    CHECK(log.check_uniform() == "");
  }
}

TEST_CASE("nothing_is_delivered_that_a_dead_member_has_not_received") {
  const DeliveryLog log(3);
  ForkJob job(3, [&](Member& member) {
    MulticastNode node(member, log,
                       {.senders = {{0}}, .order = Order::kByTurns, .max_message = 16, .slots = 8});
    auto& words = member.memory.words;
    if (member.rank == 2) {
      // It evaluates no more.
      words[0] = 1;
      require(support::eventually([&] { return words[1] == 1; }), "all is sent");
      member.die();
    }
    if (member.rank == 0) {
      require(support::eventually([&] { return words[0] == 1; }), "it rests");
      for (int i = 0; i < 5; ++i) require(node.try_send(16), "sending");
      node.multicast.flush();
    }
    const auto received = [&] { return node.multicast.table().get({1}, &MulticastRow::received); };
    node.evaluate_while([&] { return received() < 5; }, "member 1 has received all");
    words[1] = 1;
    node.evaluate_while([&] { return !node.multicast.stopped(); }, "the death is noticed");
    for (int i = 0; i < 100; ++i) node.multicast.evaluate();
    require_equal(node.delivered(), 0u, "delivered");
    // Although there is room.
    if (member.rank == 0) require(node.try_send(16) == SendStatus::kStopped, "sending ends");
    words[2]++;
    node.evaluate_while([&] { return words[2] < 2; }, "both are done");
  });
  CHECK(job.wait() == "2: signal 9\n");
}

TEST_CASE("a_stopped_receiver_holds_senders_up_and_loses_nothing") {
  enum Point : std::size_t { kRunning, kStopped, kFull, kSlept, kDone };
  for (const Order order : {Order::kUnordered, Order::kByTurns}) {
    constexpr std::uint64_t kEach = 400;
    const DeliveryLog log(3);
    ForkJob job(3, [&](Member& member) {
      MulticastNode node(member, log,
                         {.senders = {{0}, {1}}, .order = order, .max_message = 16, .slots = 16});
      auto& words = member.memory.words;
      words[kRunning]++;
      if (member.rank == 2) {
        require(support::eventually([&] { return words[kSlept] == 1; }), "it slept");
      } else {
        node.evaluate_while([&] { return words[kStopped] == 0; }, "it is stopped");
        // All slots, and no more, however long one tries.
        node.evaluate_while([&] { return node.try_send(16) == SendStatus::kAccepted; }, "full");
        for (int i = 0; i < 2000; ++i) {
          node.multicast.evaluate();
          require(node.try_send(16) == SendStatus::kFull, "it stays full");
        }
        require_equal(node.multicast.sent(), 16u, "messages, and nulls, on their way");
        require(!node.multicast.gone({2}), "it is not given up");
        words[kFull]++;
      }
      support::Random random(member.rank);
      if (member.rank != 2) node.send_all(kEach, 16, random);
      const std::uint64_t own = order == Order::kUnordered && member.rank != 2;
      node.evaluate_while([&] { return node.delivered() < (2 - own) * kEach; }, "all came");
      node.meet(kDone);
    });
    REQUIRE(support::eventually([&] { return job.memory().words[kRunning] == 3; }));
    job.stop(2);
    job.memory().words[kStopped] = 1;
    CHECK(support::eventually([&] { return job.memory().words[kFull] == 2; }));
    job.memory().words[kSlept] = 1;
    job.resume(2);
    CHECK(job.wait() == "");
    CHECK(log.check_each_sender() == "");
    if (order == Order::kByTurns) CHECK(log.check_same_order() == "");
  }
}

TEST_CASE("what_a_member_sends_after_it_was_given_up_does_not_count_and_it_learns_of_it") {
  enum Point : std::size_t { kRunning, kStopped, kGivenUp, kAwake, kLooked };
  for (const Order order : {Order::kUnordered, Order::kByTurns}) {
    const DeliveryLog log(3);
    ForkJob job(3, [&](Member& member) {
      MulticastNode node(member, log, {.order = order, .max_message = 16, .slots = 16});
      auto& words = member.memory.words;
      words[kRunning]++;
      if (member.rank == 2) {
        require(support::eventually([&] { return words[kGivenUp] == 2; }), "it slept");
        // It believes as yet that all is well.
        for (int i = 0; i < 10; ++i) require(node.try_send(16), "sending");
        node.multicast.flush();
        const auto& multicast = node.multicast;
        node.evaluate_while([&] { return !multicast.gone({0}) || !multicast.gone({1}); },
                            "it learns that it is alone");
        require(multicast.stopped() == (order == Order::kByTurns), "whether the order has ended");
        require_equal(node.delivered(), 0u, "delivered by it");
        words[kAwake] = 1;
        require(support::eventually([&] { return words[kLooked] == 2; }), "the others looked");
        return;
      }
      node.evaluate_while([&] { return words[kStopped] == 0; }, "it is stopped");
      node.fabric.fail({2}, "it does not answer");
      node.evaluate_while([&] { return !node.multicast.gone({2}); }, "it is given up");
      words[kGivenUp]++;
      node.evaluate_while([&] { return words[kAwake] == 0; }, "it is awake");
      for (int i = 0; i < 100; ++i) node.multicast.evaluate();
      require_equal(node.delivered(), 0u, "delivered");
      words[kLooked]++;
      node.evaluate_while([&] { return words[kLooked] < 2; }, "both looked");
    });
    REQUIRE(support::eventually([&] { return job.memory().words[kRunning] == 3; }));
    job.stop(2);
    job.memory().words[kStopped] = 1;
    CHECK(support::eventually([&] { return job.memory().words[kGivenUp] == 2; }));
    job.resume(2);
    CHECK(job.wait() == "");
  }
}

TEST_CASE("a_member_that_ends_its_multicast_is_gone_to_the_others") {
  for (const Order order : {Order::kUnordered, Order::kByTurns}) {
    const DeliveryLog log(2);
    ForkJob job(2, [&](Member& member) {
      support::TableNode node(member);
      std::uint64_t delivered = 0;
      const auto make = [&] {
        const MulticastOptions options{
            .order = order, .max_message = 8, .slots = 4, .name = "orders"};
        const auto count = [&](const Message&) { ++delivered; };
        return std::make_unique<Multicast<decltype(count)>>(node.group, options, count);
      };
      auto multicast = make();
      if (member.rank == 1) {
        multicast.reset();
      } else {
        const auto noticed = [&] {
          multicast->evaluate();
          return multicast->gone({1});
        };
        require(support::eventually(noticed), "it is noticed");
        for (std::uint64_t i = 0; i < 20; ++i) {
          const SendStatus status = multicast->try_send(i);
          multicast->evaluate();
          require(
              status == (order == Order::kByTurns ? SendStatus::kStopped : SendStatus::kAccepted),
              "sending to nobody");
        }
        const std::string why = multicast->why_stopped();
        require((order == Order::kByTurns) ==
                    (why.find("process 1 has ended its multicast orders") != std::string::npos),
                why);
      }
      support::meet(member, 0);
    });
    CHECK(job.wait() == "");
  }
}

TEST_CASE("a_member_that_dies_while_a_multicast_is_made_is_named") {
  ForkJob job(3, [](Member& member) {
    support::TableNode node(member);
    if (member.rank == 1) member.die();
    dsfabric::ProcessId named{};
    try {
      Multicast multicast(node.group, {}, [](const Message&) {});
    } catch (const dsfabric::PeerFailed& failed) {
      named = failed.process();
    }
    require(named == dsfabric::ProcessId{1}, "PeerFailed names it");
    // And the others can make one without it.
    std::uint64_t sum = 0;
    Multicast multicast(node.group, {.members = {{0}, {2}}, .max_message = 8},
                        [&](const Message&) { ++sum; });
    require(multicast.try_send(std::uint64_t{1}), "sending");
    const auto came = [&] {
      multicast.evaluate();
      return sum == 1 && multicast.delivered_by_all() == 1;
    };
    require(support::eventually(came), "the others work");
    member.memory.words[0]++;
    const auto both = [&] {
      multicast.evaluate();
      return member.memory.words[0] == 2;
    };
    require(support::eventually(both), "both");
  });
  CHECK(job.wait() == "1: signal 9\n");
}
