// SPDX-License-Identifier: MIT
// Commands in messages: several in one, one in several.
#include <string>
#include <vector>

#include "store/engine.hpp"
#include "store/support/loop.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using support::Loop;
using support::TestClient;

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
