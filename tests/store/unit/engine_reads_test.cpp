// SPDX-License-Identifier: MIT
// Reads: in their place among updates, with a ticket and without a message, or at once.
#include <string>

#include "store/engine.hpp"
#include "store/support/loop.hpp"
#include "support/catch.hpp"

using support::Loop;
using support::TestClient;

TEST_CASE("a_read_sees_what_was_answered_anywhere_before_it") {
  Loop loop(2);
  TestClient writer(loop[0]), reader(loop[1]);
  reader.say("GET a");
  writer.say("SET a 1");
  loop.send(0);
  loop.send(1);
  loop.deliver();
  CHECK(writer.heard() == "+OK ");
  // Its message came after the update in the order, though the command was given before it.
  CHECK(reader.heard() == "$1 1 ");
}

TEST_CASE("reads_without_updates_wait_for_a_ticket_and_need_no_message") {
  Loop loop(2);
  TestClient writer(loop[0]), reader(loop[1]);
  reader.say("GET a");
  REQUIRE(loop[1].reads_wait());
  loop[1].begin_reads(1);
  CHECK(loop[1].message().empty());
  reader.say("GET a");
  reader.say("PING");
  REQUIRE(loop[1].reads_wait());
  loop[1].begin_reads(2);
  CHECK(!loop[1].run_reads(0));
  CHECK(loop[1].run_reads(1));
  CHECK(reader.heard() == "$-1 ");
  writer.say("SET a 1");
  CHECK(!loop[0].reads_wait());
  loop.settle();
  CHECK(reader.heard().empty());
  CHECK(loop[1].run_reads(5));
  CHECK(reader.heard() == "$1 1 +PONG ");
  CHECK(!loop[1].run_reads(5));
}

TEST_CASE("reads_with_a_ticket_keep_their_place_among_the_commands_of_their_client") {
  Loop loop(2);
  TestClient client(loop[0]);
  client.say("SET a 1");
  loop.send(0);
  client.say("GET a");
  REQUIRE(loop[0].reads_wait());
  loop[0].begin_reads(1);
  client.say("INCR a");
  loop.send(0);
  // The ticket comes before the update that the read is behind, or after that which is behind it.
  CHECK(!loop[0].run_reads(1));
  loop.deliver(1);
  CHECK(client.heard() == "+OK ");
  loop.deliver(1);
  CHECK(client.heard() == "$1 1 :2 ");
  client.say("GET a");
  loop[0].begin_reads(2);
  loop[0].give_up("ERR lost");
  CHECK(client.heard() == "-ERR lost ");
  CHECK(!loop[0].run_reads(2));
}

TEST_CASE("reads_need_a_message_when_they_look_at_the_time_or_a_key_has_ended") {
  Loop loop(2);
  TestClient client(loop[0]);
  client.say("SET a 1 PX 500");
  loop.settle();
  client.say("GET a");
  CHECK(loop[0].reads_wait());
  client.say("PTTL a");
  CHECK(!loop[0].reads_wait());
  loop.now += 100;
  loop.settle();
  CHECK(client.heard() == "+OK $1 1 :400 ");
  loop.now += 399;
  client.say("GET a");
  CHECK(loop[0].reads_wait());
  loop.now += 1;
  CHECK(!loop[0].reads_wait());
  loop.settle();
  CHECK(client.heard() == "$-1 ");
  CHECK(loop[1].database().size() == 0);
}

TEST_CASE("a_client_that_said_readonly_reads_at_once_what_is_here") {
  Loop loop(2);
  TestClient writer(loop[0]), reader(loop[1]);
  reader.say("READONLY");
  reader.say("GET a");
  CHECK(reader.heard() == "+OK $-1 ");
  writer.say("SET a 1");
  loop.settle();
  reader.say("GET a");
  CHECK(reader.heard() == "$1 1 ");
  // Behind an update of its own it waits, so that it sees it.
  reader.say("SET a 2");
  reader.say("GET a");
  CHECK(reader.heard().empty());
  loop.settle();
  CHECK(reader.heard() == "+OK $1 2 ");
  reader.say("READWRITE");
  reader.say("GET a");
  CHECK(reader.heard() == "+OK ");
}
