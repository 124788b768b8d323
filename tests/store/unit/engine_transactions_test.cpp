// SPDX-License-Identifier: MIT
// Transactions are one update or none, and none when a watched key has changed.
#include <string>

#include "store/engine.hpp"
#include "store/support/loop.hpp"
#include "support/catch.hpp"

using support::Loop;
using support::TestClient;

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
