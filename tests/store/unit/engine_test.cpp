// SPDX-License-Identifier: MIT
// Commands, messages and replies of members, with an order that the test makes.
#include "store/engine.hpp"

#include <string>

#include "store/support/loop.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

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

TEST_CASE("a_transaction_is_one_update") {
  Loop loop(2);
  TestClient client(loop[0]), other(loop[1]);
  for (const char* command : {"MULTI", "SET a 1", "INCR a", "GET a"}) client.say(command);
  CHECK(client.heard() == "+OK +QUEUED +QUEUED +QUEUED ");
  other.say("SET a 100");
  loop.settle();
  client.say("EXEC");
  other.say("INCR a");
  loop.settle();
  CHECK(client.heard() == "*3 +OK :2 $1 2 ");
  CHECK(other.heard() == "+OK :3 ");
  CHECK(loop[0].database().digest() == loop[1].database().digest());
  client.say("EXEC");
  CHECK(client.heard() == "-ERR EXEC without MULTI ");
  client.say("MULTI");
  client.say("EXEC");
  loop.settle();
  CHECK(client.heard() == "+OK *0 ");
}

TEST_CASE("a_transaction_comes_to_nothing_when_a_watched_key_has_changed") {
  Loop loop(2);
  TestClient client(loop[0]), other(loop[1]);
  // What the other one does between WATCH and EXEC, and whether that is a change.
  struct Deed {
    const char* command;
    bool changes;
  };
  for (const Deed deed :
       {Deed{"GET a", false}, Deed{"SET b 1", false}, Deed{"SET a 1", true}, Deed{"INCR a", true},
        Deed{"APPEND a 1", true}, Deed{"EXPIRE a 9", true}, Deed{"PERSIST a", true},
        Deed{"SETNX a 2", false}, Deed{"DEL a", true}, Deed{"SETNX a 2", true},
        Deed{"MSET a 3", true}, Deed{"GETSET a 4", true}, Deed{"FLUSHALL", true}}) {
    INFO(deed.command);
    client.say("WATCH x a");
    client.say("MULTI");
    client.say("SET done 1");
    other.say(deed.command);
    loop.settle();
    client.say("EXEC");
    loop.settle();
    CHECK(client.heard() == std::string("+OK +OK +QUEUED ") + (deed.changes ? "*-1 " : "*1 +OK "));
    CHECK(loop[0].database().digest() == loop[1].database().digest());
    (void)other.heard();
  }
  // EXEC, DISCARD and UNWATCH end it.
  for (const char* end : {"EXEC", "DISCARD", "UNWATCH"}) {
    client.say("WATCH a");
    if (end[0] != 'U') client.say("MULTI");
    client.say(end);
    loop.settle();
    other.say("SET a 9");
    loop.settle();
    (void)client.heard();
    client.say("MULTI");
    client.say("EXEC");
    loop.settle();
    CHECK(client.heard() == "+OK *0 ");
  }
  client.say("MULTI");
  client.say("WATCH a");
  CHECK(client.heard() == "+OK -ERR WATCH inside MULTI is not allowed ");
}

TEST_CASE("a_watch_behind_other_commands_sees_what_they_have_done") {
  Loop loop(2);
  TestClient client(loop[0]);
  client.say("SET a 1");
  client.say("WATCH a");
  CHECK(client.holds);
  loop.settle();
  CHECK_FALSE(client.holds);
  client.say("MULTI");
  client.say("INCR a");
  client.say("EXEC");
  loop.settle();
  CHECK(client.heard() == "+OK +OK +OK +QUEUED *1 :2 ");
  // One that is given up holds nobody.
  client.say("GET a");
  client.say("WATCH a");
  loop[0].give_up("CLUSTERDOWN");
  CHECK_FALSE(client.holds);
  // The condition counts for the length of a transaction.
  client.say("WATCH " + std::string(3000, 'k'));
  client.say("MULTI");
  client.say("SET a " + std::string(2000, 'x'));
  client.say("EXEC");
  CHECK(client.heard().find("larger than a command") != std::string::npos);
}

TEST_CASE("a_transaction_with_an_error_changes_nothing") {
  Loop loop(1);
  TestClient client(loop[0]);
  for (const char* command : {"MULTI", "SET a 1", "SET a", "EXEC"}) client.say(command);
  loop.settle();
  CHECK(client.heard() ==
        "+OK +QUEUED -ERR wrong number of arguments for 'set' command "
        "-EXECABORT Transaction discarded because of previous errors. ");
  for (const char* command : {"MULTI", "SET a 1", "MULTI", "DISCARD", "DISCARD"}) {
    client.say(command);
  }
  CHECK(client.heard() ==
        "+OK +QUEUED -ERR MULTI calls can not be nested +OK -ERR DISCARD without MULTI ");
  CHECK(loop[0].database().size() == 0);
  // Larger than a message.
  client.say("MULTI");
  for (int i = 0; i < 5; ++i) client.say("SET a " + std::string(1000, 'x'));
  client.say("EXEC");
  CHECK(client.heard().find("EXECABORT") != std::string::npos);
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

TEST_CASE("commands_fill_messages_up_to_the_limit") {
  Loop loop(2);
  TestClient client(loop[0]);
  for (int i = 0; i < 100; ++i)
    client.say("SET k" + std::to_string(i) + " " + std::string(100, 'v'));
  const std::size_t messages = loop.send(0);
  CHECK(messages >= 3);
  CHECK(messages <= 5);
  loop.deliver();
  CHECK(loop[1].database().size() == 100);
  std::string all;
  for (int i = 0; i < 100; ++i) all += "+OK ";
  CHECK(client.heard() == all);
}

TEST_CASE("the_largest_command_fits_and_a_larger_one_is_refused") {
  Loop loop(1);
  TestClient client(loop[0]);
  const std::size_t most = loop[0].max_command() - 3 * store::RespParser::kArgumentBytes - 4;
  client.say("SET k " + std::string(most, 'v'));
  CHECK(loop[0].message().size() == 4096);
  loop.settle();
  CHECK(client.heard() == "+OK ");
  loop[0].too_large(client);
  CHECK(client.heard().find("-ERR the command is larger than 4076 bytes") == 0);
}

TEST_CASE("a_command_that_is_larger_than_a_message_takes_several_and_is_one_update") {
  Loop loop(2, 256, 4096);
  TestClient client(loop[0]), other(loop[1]);
  const std::string large(1000, 'v');
  client.say("SET k " + large);
  client.say("STRLEN k");
  other.say("SET k small");
  other.say("SET o 1");
  // Both members' messages take turns; only the last part is the update.
  CHECK(loop.send(0) == 6);
  loop.deliver(4);
  CHECK(loop[1].database().size() == 0);
  loop.send(1);
  loop.deliver(1);
  CHECK(client.heard() == "+OK ");
  loop.deliver();
  CHECK(client.heard() == ":1000 ");
  CHECK(other.heard() == "+OK +OK ");
  CHECK(loop[0].database().digest() == loop[1].database().digest());
  client.say("MULTI");
  for (int i = 0; i < 5; ++i) client.say("APPEND k " + std::string(200, 'x'));
  (void)client.heard();
  client.say("EXEC");
  loop.settle();
  CHECK(client.heard() == "*5 :205 :405 :605 :805 :1005 ");
  CHECK(loop[0].database().digest() == loop[1].database().digest());
}

TEST_CASE("a_state_has_the_parts_that_have_come_and_a_new_command_forgets_those_of_a_lost_one") {
  Loop loop(2, 256, 4096);
  TestClient client(loop[0]);
  client.say("SET k " + std::string(1000, 'v'));
  loop.send(0);
  loop.deliver(3);
  const std::vector<std::byte> state = loop[1].snapshot();
  for (std::size_t size = 0; size < state.size(); size += 7) {
    store::Engine damaged({.max_message = 256});
    CHECK(support::error_text([&] { damaged.restore(std::span(state).first(size)); }) != "");
  }
  loop[1].restore(state);
  loop.deliver();
  CHECK(loop[0].database().digest() == loop[1].database().digest());
  CHECK(client.heard() == "+OK ");
  // A sender that gave up in the middle.
  client.say("SET k " + std::string(1000, 'w'));
  loop.send(0);
  loop.deliver(2);
  loop[0].give_up("CLUSTERDOWN");
  loop.drop();
  client.say("SET k " + std::string(1000, 'x'));
  loop.settle();
  CHECK(client.heard() == "-CLUSTERDOWN +OK ");
  CHECK(loop[0].database().digest() == loop[1].database().digest());
  client.say("GET k");
  loop.settle();
  CHECK(client.heard() == "$1000 " + std::string(1000, 'x') + " ");
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
