// SPDX-License-Identifier: MIT
// Commands, messages and replies of members, with an order that the test makes.
#include "store/engine.hpp"

#include <memory>
#include <string>

#include "store/support/loop.hpp"
#include "support/catch.hpp"

using support::Loop;
using support::TestClient;

TEST_CASE("an_update_is_answered_when_it_is_delivered_and_not_before") {
  Loop loop(3);
  TestClient client(loop[0]), other(loop[2]);
  client.say("SET a 1");
  CHECK(loop.send(0) == 1);
  CHECK(client.heard().empty());
  loop.deliver();
  CHECK(client.heard() == "+OK ");
  other.say("GET a");
  loop.settle();
  CHECK(other.heard() == "$1 1 ");
  CHECK(loop[0].database().digest() == loop[1].database().digest());
}

TEST_CASE("replies_are_in_the_order_of_the_commands") {
  Loop loop(2);
  TestClient client(loop[0]);
  for (const char* command : {"SET a 1", "PING", "GET a", "NOSUCH", "INCR a", "ECHO x", "GET a"}) {
    client.say(command);
  }
  CHECK(client.heard().empty());
  CHECK(loop.send(0) == 1);
  loop.deliver();
  CHECK(client.heard() == "+OK +PONG $1 1 -ERR unknown command 'NOSUCH' :2 $1 x $1 2 ");
  // With nothing outstanding there is nothing to wait for.
  client.say("PING");
  CHECK(client.heard() == "+PONG ");
}

TEST_CASE("published_messages_reach_subscribers_at_all_members_in_one_order") {
  Loop loop(3);
  TestClient publisher(loop[0]), here(loop[0]), there(loop[2]);
  here.say("SUBSCRIBE c d");
  there.say("SUBSCRIBE c");
  CHECK(here.heard() == "*3 $9 subscribe $1 c :1 *3 $9 subscribe $1 d :2 ");
  CHECK(there.heard() == "*3 $9 subscribe $1 c :1 ");
  publisher.say("PUBLISH c one");
  publisher.say("PUBLISH d two");
  publisher.say("PUBLISH e none");
  loop.settle();
  CHECK(publisher.heard() == ":1 :1 :0 ");
  CHECK(here.heard() == "*3 $7 message $1 c $3 one *3 $7 message $1 d $3 two ");
  CHECK(there.heard() == "*3 $7 message $1 c $3 one ");
  here.say("GET a");
  CHECK(here.heard().find("-ERR Can't execute 'get'") == 0);
  here.say("PING");
  here.say("UNSUBSCRIBE");
  CHECK(here.heard() == "*2 $4 pong $0  *3 $11 unsubscribe $1 c :1 *3 $11 unsubscribe $1 d :0 ");
  here.say("UNSUBSCRIBE");
  CHECK(here.heard() == "*3 $11 unsubscribe $-1 :0 ");
  publisher.say("PUBLISH c three");
  loop.settle();
  CHECK(here.heard().empty());
}

TEST_CASE("time_is_that_of_the_latest_message_and_the_same_everywhere") {
  Loop loop(2);
  TestClient client(loop[0]), other(loop[1]);
  client.say("SET a 1 PX 50");
  loop.settle();
  loop.now = 1040;
  other.say("PTTL a");
  loop.settle();
  CHECK(other.heard() == ":10 ");
  // The clock of another member is behind.
  loop.now = 1000;
  client.say("PTTL a");
  loop.settle();
  CHECK(client.heard() == "+OK :10 ");
  loop.now = 1050;
  client.say("GET a");
  loop.settle();
  CHECK(client.heard() == "$-1 ");
  CHECK(loop[1].database().size() == 0);
}

TEST_CASE("a_client_that_is_gone_gets_nothing_and_its_updates_count") {
  Loop loop(2);
  auto client = std::make_unique<TestClient>(loop[0]);
  TestClient other(loop[0]);
  client->say("SUBSCRIBE c");
  client->say("UNSUBSCRIBE c");
  client->say("SET a 1");
  client->say("GET a");
  client->say("SUBSCRIBE c");
  loop[0].closed(*client);
  loop.settle();
  CHECK(client->outstanding == 0);
  CHECK(client->heard().find("+OK") == std::string::npos);
  CHECK(client->channels.empty());
  client.reset();
  other.say("PUBLISH c x");
  loop.settle();
  CHECK(other.heard() == ":0 ");
  CHECK(loop[1].database().size() == 1);
}

TEST_CASE("what_has_an_unknown_fate_is_answered_with_the_error") {
  Loop loop(1);
  TestClient client(loop[0]);
  client.say("SET a 1");
  client.say("GET a");
  loop.send(0);
  client.say("SET b 1");
  loop[0].give_up("CLUSTERDOWN lost");
  CHECK(client.heard() == "-CLUSTERDOWN lost -CLUSTERDOWN lost -CLUSTERDOWN lost ");
  CHECK(client.outstanding == 0);
  loop[0].refuse("CLUSTERDOWN lost", true);
  client.say("SET c 1");
  client.say("GET c");
  client.say("READONLY");
  client.say("GET c");
  client.say("PING");
  CHECK(client.heard() == "-CLUSTERDOWN lost -CLUSTERDOWN lost +OK $-1 +PONG ");
  // It was sent, so it may still come; then it counts.
  loop.deliver();
  CHECK(loop[0].database().size() == 1);
  CHECK(client.heard().empty());
}

TEST_CASE("what_was_given_up_and_comes_all_the_same_answers_nobody_else") {
  Loop loop(2);
  TestClient client(loop[0]);
  client.say("INCR a");
  loop.send(0);
  loop[0].give_up("CLUSTERDOWN lost");
  // The majority was there after all.
  client.say("INCRBY a 10");
  client.say("GET a");
  loop.send(0);
  CHECK(client.heard() == "-CLUSTERDOWN lost ");
  loop.deliver(1);
  CHECK(client.heard().empty());
  loop.deliver();
  CHECK(client.heard() == ":11 $2 11 ");
  CHECK(client.outstanding == 0);
  CHECK(loop[0].database().digest() == loop[1].database().digest());
}

TEST_CASE("what_clients_ask_at_their_start_is_answered") {
  Loop loop(1);
  TestClient client(loop[0]);
  for (const char* command :
       {"HELLO 3", "COMMAND DOCS", "CONFIG GET save", "CONFIG GET appendonly", "CONFIG GET x",
        "CONFIG SET a b", "CLIENT SETNAME x", "SELECT 0", "SELECT 1", "QUIT"}) {
    client.say(command);
  }
  CHECK(client.heard() ==
        "-ERR unknown command 'HELLO' *0 *2 $4 save $0  *2 $10 appendonly $2 no *0 "
        "-ERR only CONFIG GET is supported +OK +OK -ERR DB index is out of range +OK ");
  CHECK(client.quits);
}
