// SPDX-License-Identifier: MIT
// Turns: what has come without a gap, who must take turns, and the order of delivery.
#include "sst/detail/turn_order.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"

using sst::detail::TurnOrder;

TEST_CASE("received_counts_positions_up_to_the_first_gap") {
  TurnOrder order(3);
  CHECK(order.received() == 0);
  order.take(1, 5);
  CHECK(order.received() == 0);
  order.take(0, 1);
  CHECK(order.received() == 2);
  order.take(2, 2);
  CHECK(order.received() == 3);
  order.take(0, 1);
  CHECK(order.received() == 6);
  order.take(0, 9);
  CHECK(order.received() == 8);
}

TEST_CASE("turns_are_due_only_before_what_others_have_sent") {
  TurnOrder order(3);
  CHECK(order.due(0) == 0);
  order.take(1, 1);
  CHECK(order.due(0) == 1);
  CHECK(order.due(1) == 0);
  CHECK(order.due(2) == 0);
  order.take(1, 1);
  CHECK(order.due(0) == 2);
  CHECK(order.due(2) == 1);
}

TEST_CASE("a_lone_sender_has_no_turns_due") {
  TurnOrder order(1);
  order.take(0, 7);
  CHECK(order.due(0) == 0);
  CHECK(order.received() == 7);
}

TEST_CASE("turns_that_are_due_make_all_messages_deliverable_and_then_nothing_is_due") {
  support::Random random(support::test_seed());
  for (int round = 0; round < 1000; ++round) {
    const std::size_t senders = 1 + random.below(6);
    TurnOrder order(senders);
    std::uint64_t positions = 0;
    for (int i = 0; i < 10; ++i) {
      const std::size_t sender = random.below(senders);
      order.take(sender, 1 + random.below(3));
      positions = std::max(positions, (order.taken(sender) - 1) * senders + sender + 1);
    }
    // In any order, each once.
    const std::size_t first = random.below(senders);
    for (std::size_t i = 0; i < senders; ++i) {
      const std::size_t sender = (first + i) % senders;
      const std::uint64_t due = order.due(sender);
      if (due > order.taken(sender)) order.take(sender, due - order.taken(sender));
    }
    CHECK(order.received() == positions);
    for (std::size_t sender = 0; sender < senders; ++sender) {
      CHECK(order.due(sender) <= order.taken(sender));
    }
  }
}

TEST_CASE("positions_go_round_the_senders") {
  TurnOrder order(3);
  for (std::uint64_t position = 0; position < 10; ++position) {
    CHECK(order.position() == position);
    CHECK(order.sender() == position % 3);
    order.advance();
  }
}
