// SPDX-License-Identifier: MIT
// What each command does to the state, and what it replies.
#include "store/database.hpp"

#include <random>
#include <set>
#include <string>

#include "store/support/state.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using support::State;

TEST_CASE("values_are_set_and_read") {
  State run;
  CHECK(run("GET a") == "$-1 ");
  CHECK(run("SET a 1") == "+OK ");
  CHECK(run("GET a") == "$1 1 ");
  CHECK(run("SET a 2 NX") == "$-1 ");
  CHECK(run("SET a 2 XX GET") == "$1 1 ");
  CHECK(run("SET b 2 XX") == "$-1 ");
  CHECK(run("SET b 2 nx get") == "$-1 ");
  CHECK(run("GET b") == "$1 2 ");
  CHECK(run("SETNX b 3") == ":0 ");
  CHECK(run("GETSET b 4") == "$1 2 ");
  CHECK(run("GETDEL b") == "$1 4 ");
  CHECK(run("MSET x 1 y 2") == "+OK ");
  CHECK(run("MGET x b y") == "*3 $1 1 $-1 $1 2 ");
  CHECK(run("DEL x y z") == ":2 ");
  CHECK(run("EXISTS a a b") == ":2 ");
  CHECK(run("TYPE a") == "+string ");
  CHECK(run("DBSIZE") == ":1 ");
  CHECK(run("FLUSHALL") == "+OK ");
  CHECK(run("DBSIZE") == ":0 ");
}

TEST_CASE("options_of_set_that_exclude_each_other_are_refused") {
  State run;
  for (const char* options : {"NX XX", "EX 1 PX 1", "EX 1 KEEPTTL", "EX", "FOO"}) {
    CHECK(run(std::string("SET a 1 ") + options) == "-ERR syntax error ");
  }
  CHECK(run("SET a 1 EX 0") == "-ERR invalid expire time in 'set' command ");
  CHECK(run("SET a 1 EX 9223372036854775807") == "-ERR invalid expire time in 'set' command ");
  CHECK(run("SET a 1 EX x") == "-ERR value is not an integer or out of range ");
  CHECK(run("MSET a 1 b") == "-ERR wrong number of arguments for 'mset' command ");
  CHECK(run("DBSIZE") == ":0 ");
}

TEST_CASE("counters_stop_at_their_limits") {
  State run;
  CHECK(run("INCR n") == ":1 ");
  CHECK(run("INCRBY n 9223372036854775806") == ":9223372036854775807 ");
  CHECK(run("INCR n") == "-ERR increment or decrement would overflow ");
  CHECK(run("DECRBY n 9223372036854775807") == ":0 ");
  CHECK(run("DECR n") == ":-1 ");
  CHECK(run("DECRBY n -9223372036854775808") == "-ERR value is not an integer or out of range ");
  CHECK(run("APPEND n x") == ":3 ");
  CHECK(run("STRLEN n") == ":3 ");
  CHECK(run("INCR n") == "-ERR value is not an integer or out of range ");
  CHECK(run("STRLEN none") == ":0 ");
}

TEST_CASE("keys_end_by_the_time_that_was_told") {
  State run;
  run.database.advance(1'000'000);
  run("SET a 1 EX 10");
  run("SET b 1 PX 10500");
  run("SET c 1");
  CHECK(run("TTL a") == ":10 ");
  CHECK(run("PTTL b") == ":10500 ");
  CHECK(run("TTL c") == ":-1 ");
  CHECK(run("TTL d") == ":-2 ");
  run.database.advance(1'009'999);
  CHECK(run("GET a") == "$1 1 ");
  CHECK(run("PTTL a") == ":1 ");
  run.database.advance(1'010'000);
  CHECK(run("GET a") == "$-1 ");
  CHECK(run("DBSIZE") == ":2 ");
  // It does not go back.
  run.database.advance(5);
  CHECK(run("PTTL b") == ":500 ");
  CHECK(run("PERSIST b") == ":1 ");
  CHECK(run("PERSIST b") == ":0 ");
  run.database.advance(2'000'000);
  CHECK(run("EXISTS b c") == ":2 ");
}

TEST_CASE("the_end_of_a_key_goes_with_its_value") {
  State run;
  run.database.advance(1000);
  run("SET a 1 PX 100");
  run("SET a 2");
  CHECK(run("TTL a") == ":-1 ");
  run("SET a 1 PX 100");
  run("SET a 2 KEEPTTL");
  CHECK(run("PTTL a") == ":100 ");
  run("INCR a");
  CHECK(run("PTTL a") == ":100 ");
  run("GETSET a 5");
  CHECK(run("TTL a") == ":-1 ");
  run("PEXPIRE a 100");
  run("DEL a");
  run("SET a 1");
  run.database.advance(5000);
  CHECK(run("GET a") == "$1 1 ");
  CHECK(run("EXPIRE a -1") == ":1 ");
  CHECK(run("GET a") == "$-1 ");
  CHECK(run("EXPIRE a 5") == ":0 ");
  run("SETEX a 5 x");
  CHECK(run("PTTL a") == ":5000 ");
  run("PSETEX a 5 x");
  CHECK(run("PTTL a") == ":5 ");
  CHECK(run("PEXPIREAT a 6000") == ":1 ");
  CHECK(run("PTTL a") == ":1000 ");
  CHECK(run("EXPIREAT a 1") == ":1 ");
  CHECK(run("EXISTS a") == ":0 ");
}

TEST_CASE("scan_finds_every_key_that_stays_once") {
  State run;
  for (int i = 0; i < 5000; ++i) run("SET key" + std::to_string(i) + " v");
  std::multiset<std::string> found;
  std::string cursor = "0";
  int calls = 0;
  do {
    const std::string reply = run("SCAN " + cursor + " MATCH key* COUNT 100");
    const auto words = support::words_of(reply);
    cursor = words[2];
    for (std::size_t i = 5; i < words.size(); i += 2) found.emplace(words[i]);
    // Others come and go meanwhile.
    run("SET other" + std::to_string(calls) + " v");
    run("DEL other" + std::to_string(calls - 3));
    ++calls;
  } while (cursor != "0");
  CHECK(found.size() == 5000);
  CHECK(std::set(found.begin(), found.end()).size() == 5000);
  CHECK(calls > 20);
  CHECK(run("SCAN -1") == "-ERR invalid cursor ");
  CHECK(run("SCAN 0 COUNT 0") == "-ERR syntax error ");
  CHECK(run("SCAN 99999") == "*2 $1 0 *0 ");
}

TEST_CASE("patterns_match_as_in_redis") {
  using store::matches;
  CHECK(matches("*", ""));
  CHECK(matches("h?llo", "hello"));
  CHECK(matches("h*o*", "hello world"));
  CHECK(matches("h[a-e]llo", "hello"));
  CHECK(!matches("h[^a-e]llo", "hello"));
  CHECK(matches("h[e-a]llo", "hello"));
  CHECK(matches("\\*", "*"));
  CHECK(!matches("\\*", "a"));
  CHECK(!matches("a", ""));
  CHECK(!matches("", "a"));
  CHECK(matches("[\\]]", "]"));
  CHECK(!matches("[ab", "c"));
  // Not exponential.
  CHECK(!matches(std::string(40, '*') + "a*a*a*a*a*a*a*a*a*b", std::string(20'000, 'a')));
}

TEST_CASE("a_restored_state_goes_on_as_the_one_that_it_was_taken_from") {
  std::mt19937 random(3);
  State one, other;
  const auto change = [&](State& state, std::uint32_t value, std::uint64_t now) {
    const std::string key = std::to_string(value % 50);
    state.database.advance(now);
    switch (value / 50 % 4) {
      case 0:
        return state("SET " + key + " " + std::to_string(value) + " PX 40");
      case 1:
        return state("APPEND " + key + " x");
      case 2:
        return state("DEL " + key);
      default:
        return state("INCR " + key + "n");
    }
  };
  for (std::uint64_t now = 1; now < 500; ++now) change(one, random(), now);
  other("SET old 1");
  other.database.restore(one.database.snapshot());
  CHECK(other.database.digest() == one.database.digest());
  for (std::uint64_t now = 500; now < 1000; ++now) {
    const auto value = static_cast<std::uint32_t>(random());
    REQUIRE(change(one, value, now) == change(other, value, now));
  }
  CHECK(other.database.digest() == one.database.digest());
  CHECK(other("EXISTS old") == ":0 ");
}

TEST_CASE("bytes_that_are_no_state_are_refused") {
  State state;
  for (int i = 0; i < 20; ++i) state("SET k" + std::to_string(i) + " value");
  std::vector<std::byte> bytes = state.database.snapshot();
  store::Database other;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    REQUIRE(support::error_text([&] { other.restore(std::span(bytes).first(size)); }) != "");
    REQUIRE(other.size() == 0);
  }
  bytes.push_back(std::byte{0});
  CHECK(support::error_text([&] { other.restore(bytes); }) != "");
}
