// SPDX-License-Identifier: MIT
// Multicast: everything arrives once, as it was sent, in the order that was asked for.
#include "sst/multicast.hpp"

#include <fmt/format.h>

#include "sst/support/multicast_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using namespace sst;
using dsfabric::ProcessId;
using support::DeliveryLog;
using support::ForkJob;
using support::Member;
using support::MulticastNode;
using support::require;
using support::require_equal;

namespace {

/// The members in `senders` send so many messages each, and all deliver all of them, but for their
/// own if they are unordered.
void run_all_to_all(std::uint32_t members, const MulticastOptions& options,
                    std::uint64_t messages) {
  const DeliveryLog log(members);
  ForkJob job(members, [&](Member& member) {
    MulticastNode node(member, log, options);
    const bool sends =
        options.senders.empty() || std::find(options.senders.begin(), options.senders.end(),
                                             node.fabric.process()) != options.senders.end();
    const bool own = sends && options.order == Order::kUnordered;
    const std::uint64_t senders = options.senders.empty() ? members : options.senders.size();
    support::Random random(member.rank + 1);
    if (sends) node.send_all(messages, options.max_message, random);
    node.evaluate_while([&] { return node.delivered() < (senders - own) * messages; },
                        "all are delivered");
    node.evaluate_while([&] { return node.multicast.delivered_by_all() < node.multicast.sent(); },
                        "by all");
    require(!node.multicast.stopped(), "nobody is gone");
    node.meet(0);
    require_equal(node.delivered(), (senders - own) * messages, "delivered");
  });
  CHECK(job.wait() == "");
  CHECK(log.check_each_sender() == "");
  if (options.order == Order::kByTurns) CHECK(log.check_same_order() == "");
}

}  // namespace

TEST_CASE("all_messages_arrive_once_and_in_their_order_at_all") {
  for (const std::uint32_t largest : {8, 16, 24, 56, 57, 300, 4000}) {
    CAPTURE(largest);
    run_all_to_all(3, {.max_message = largest, .slots = 16}, 500);
  }
  run_all_to_all(2, {.max_message = 16}, 10'000);
  run_all_to_all(1, {.max_message = 16, .slots = 16}, 100);
}

TEST_CASE("all_members_deliver_all_messages_in_one_order") {
  for (const std::uint32_t largest : {8, 16, 56, 57, 4000}) {
    CAPTURE(largest);
    run_all_to_all(3, {.order = Order::kByTurns, .max_message = largest, .slots = 16}, 500);
  }
  run_all_to_all(4, {.order = Order::kByTurns, .max_message = 40, .slots = 4}, 300);
  run_all_to_all(2, {.order = Order::kByTurns, .max_message = 16}, 10'000);
  run_all_to_all(1, {.order = Order::kByTurns, .max_message = 16, .slots = 8}, 100);
}

TEST_CASE("members_that_only_receive_receive_all") {
  run_all_to_all(3, {.senders = {{1}}, .max_message = 16, .slots = 8}, 500);
  run_all_to_all(
      4, {.senders = {{3}, {0}}, .order = Order::kByTurns, .max_message = 16, .slots = 8}, 500);
}

TEST_CASE("a_sender_with_nothing_to_send_holds_nobody_up") {
  const DeliveryLog log(3);
  ForkJob job(3, [&](Member& member) {
    MulticastNode node(member, log, {.order = Order::kByTurns, .max_message = 16, .slots = 8});
    // Only the last in the order of turns sends, then only the first.
    constexpr std::uint64_t kEach = 100;
    support::Random random(1);
    if (member.rank == 2) node.send_all(kEach, 16, random);
    node.evaluate_while([&] { return node.delivered() < kEach; }, "those of the last");
    if (member.rank == 0) node.send_all(kEach, 16, random);
    node.evaluate_while([&] { return node.delivered() < 2 * kEach; }, "those of the first");
    node.meet(0);
    // Nulls do not call forth nulls.
    const std::uint64_t sent = node.multicast.sent();
    for (int i = 0; i < 1000; ++i) node.multicast.evaluate();
    require_equal(node.multicast.sent(), sent, "messages and nulls sent");
    node.meet(1);
  });
  CHECK(job.wait() == "");
  CHECK(log.check_same_order() == "");
}

TEST_CASE("one_null_message_stands_for_many_turns") {
  const DeliveryLog log(2);
  ForkJob job(2, [&](Member& member) {
    MulticastNode node(member, log, {.order = Order::kByTurns, .max_message = 16, .slots = 64});
    if (member.rank == 1) {
      for (int i = 0; i < 50; ++i) require(node.try_send(16), "sending");
      node.multicast.flush();
    }
    node.meet(0);
    node.evaluate_while([&] { return node.delivered() < 50; }, "all are delivered");
    if (member.rank == 0) require(node.multicast.sent() < 25, "few nulls");
    node.meet(1);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("messages_are_sent_when_they_are_flushed_and_not_before") {
  const DeliveryLog log(2);
  ForkJob job(2, [&](Member& member) {
    MulticastNode node(member, log, {.senders = {{0}}, .max_message = 16, .slots = 64});
    auto& words = member.memory.words;
    if (member.rank == 0) {
      require(node.try_send(16), "sending");
      words[0] = 1;
      require(support::eventually([&] { return words[1] == 1; }), "the other one looked");
      require(node.multicast.flush(), "there is something to flush");
      require(!node.multicast.flush(), "and then nothing more");
    } else {
      require(support::eventually([&] { return words[0] == 1; }), "it is committed");
      for (int i = 0; i < 100; ++i) node.multicast.evaluate();
      require_equal(node.delivered(), 0u, "before the flush");
      words[1] = 1;
      node.evaluate_while([&] { return node.delivered() == 0; }, "after it");
    }
    node.meet(2);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_delivery_may_send") {
  // A message goes to and fro, each time sent by the delivery.
  for (const Order order : {Order::kUnordered, Order::kByTurns}) {
    const DeliveryLog log(2);
    ForkJob job(2, [&](Member& member) {
      MulticastNode* self = nullptr;
      MulticastNode node(member, log, {.order = order, .max_message = 16, .slots = 4},
                         [&](const Message& message) {
                           if (message.sender == self->multicast.table().self()) return;
                           if (self->sent == 200) return;
                           require(!self->multicast.evaluate(), "nothing is nested");
                           require(self->try_send(16), "answering");
                         });
      self = &node;
      if (member.rank == 0) require(node.try_send(16), "the first one");
      node.evaluate_while([&] { return node.sent < 200; }, "to and fro");
      node.meet(0);
    });
    CHECK(job.wait() == "");
    CHECK(log.check_each_sender() == "");
  }
}

TEST_CASE("what_a_delivery_throws_comes_out_and_the_message_counts_as_delivered") {
  for (const Order order : {Order::kUnordered, Order::kByTurns}) {
    const DeliveryLog log(2);
    ForkJob job(2, [&](Member& member) {
      MulticastNode node(member, log,
                         {.senders = {{0}}, .order = order, .max_message = 16, .slots = 4},
                         [&](const Message& message) {
                           if (member.rank == 1 && message.number == 3) throw 3;
                         });
      support::Random random(1);
      int thrown = 0;
      if (member.rank == 0) node.send_all(40, 16, random);
      while (member.rank == 1 && node.delivered() < 40) {
        try {
          node.evaluate_while([&] { return node.delivered() < 40; }, "all are delivered");
        } catch (int what) {
          thrown += what;
        }
      }
      node.meet(0);
      if (member.rank == 1) require_equal(thrown, 3, "thrown once");
    });
    CHECK(job.wait() == "");
    CHECK(log.check_each_sender() == "");
  }
}

TEST_CASE("columns_tell_what_is_received_stable_and_delivered") {
  constexpr std::uint64_t kEach = 300;
  const DeliveryLog log(3);
  ForkJob job(3, [&](Member& member) {
    MulticastNode node(member, log, {.order = Order::kByTurns, .max_message = 16, .slots = 16});
    std::uint64_t stable = 0, ranges = 0;
    auto& table = node.multicast.table();
    table.when_grows([](const auto& t) { return t.min(&MulticastRow::received); }, std::uint64_t{0})
        .deliver([&](auto&, std::uint64_t first, std::uint64_t last) {
          require_equal(first, stable + 1, "ranges are without a gap");
          stable = last;
          ++ranges;
        });
    support::Random random(member.rank);
    node.send_all(kEach, 16, random);
    node.evaluate_while([&] { return table.min(&MulticastRow::delivered) < 3 * kEach; },
                        "all say that they have delivered all");
    node.evaluate_while([&] { return stable < 3 * kEach; }, "the predicate has seen it");
    require(ranges != 0, "in ranges");
    node.meet(0);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("two_multicasts_and_a_table_share_a_group") {
  const DeliveryLog log(3), other_log(3);
  ForkJob job(3, [&](Member& member) {
    MulticastNode node(member, log, {.order = Order::kByTurns, .max_message = 16, .slots = 8});
    std::uint64_t others = 0;
    const std::vector<ProcessId> pair{{1}, {2}};
    if (member.rank != 0) {
      Multicast other(node.group,
                      {.members = pair, .max_message = 100, .slots = 8, .name = "other"},
                      [&](const Message&) { ++others; });
      for (int i = 0; i < 8; ++i) require(other.try_send(std::uint64_t{7}), "sending");
      node.evaluate_while(
          [&] {
            other.evaluate();
            return others < 8 || other.delivered_by_all() < other.sent();
          },
          "those of the other");
    }
    support::Random random(member.rank);
    node.send_all(200, 16, random);
    node.evaluate_while([&] { return node.delivered() < 600; }, "all are delivered");
    node.meet(0);
  });
  CHECK(job.wait() == "");
  CHECK(log.check_same_order() == "");
}

TEST_CASE("a_multicast_ends_and_another_is_made") {
  ForkJob job(3, [&](Member& member) {
    support::TableNode node(member);
    for (std::uint64_t round = 0; round < 20; ++round) {
      std::uint64_t sum = 0;
      Multicast multicast(node.group, {.order = Order::kByTurns, .max_message = 8, .slots = 4},
                          [&](const Message& message) {
                            std::uint64_t value;
                            std::memcpy(&value, message.data, sizeof value);
                            sum += value;
                          });
      require(multicast.try_send(round), "sending");
      const auto all = [&] {
        multicast.evaluate();
        return sum == 3 * round && multicast.table().min(&MulticastRow::delivered) >= 3;
      };
      require(support::eventually(all), "all have delivered all");
    }
  });
  CHECK(job.wait() == "");
}
