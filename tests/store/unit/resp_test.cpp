// SPDX-License-Identifier: MIT
// The parser of RESP: whole, in pieces, too large, and garbage.
#include "store/resp.hpp"

#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"

using store::ParseStatus;
using store::RespParser;
using Words = std::vector<std::string>;

namespace {

std::string encode(const Words& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return text;
}

/// A parser with the bytes that it has not consumed, as a connection has them.
struct Feed {
  explicit Feed(std::size_t max_command = 1 << 20) : parser(max_command) {}
  RespParser parser;
  std::string in;
  std::vector<Words> commands;
  std::size_t too_large = 0;
  std::size_t most_kept = 0;

  /// The status at which it stopped: kNeedMore or kGarbage.
  ParseStatus add(std::string_view bytes) {
    in.append(bytes);
    for (;;) {
      std::size_t consumed = 0;
      const ParseStatus status = parser.next(in, consumed);
      if (status == ParseStatus::kCommand) {
        commands.emplace_back(parser.arguments().begin(), parser.arguments().end());
      }
      too_large += status == ParseStatus::kTooLarge;
      in.erase(0, consumed);
      most_kept = std::max(most_kept, in.size());
      if (status == ParseStatus::kNeedMore || status == ParseStatus::kGarbage) return status;
    }
  }
};

std::string garbage(const std::string& bytes) {
  Feed feed;
  return feed.add(bytes) == ParseStatus::kGarbage ? feed.parser.error() : "accepted";
}

}  // namespace

TEST_CASE("commands_that_come_together_are_taken_one_by_one") {
  Feed feed;
  const std::vector<Words> commands{
      {"SET", "k", std::string("a\r\n\0b", 5)}, {"GET", ""}, {"PING"}};
  std::string text;
  for (const Words& words : commands) text += encode(words);
  CHECK(feed.add(text) == ParseStatus::kNeedMore);
  CHECK(feed.commands == commands);
  CHECK(feed.in.empty());
}

TEST_CASE("commands_may_come_in_any_pieces") {
  const std::vector<Words> commands{
      {"SET", "key", std::string(1000, 'x')}, {"GET", "key"}, {"MGET", "", "a", "\r\n"}};
  std::string text;
  for (const Words& words : commands) text += encode(words);
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Feed feed;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = round == 0 ? 1 : 1 + random() % 40;
      feed.add(std::string_view(text).substr(at, size));
      at += size;
    }
    REQUIRE(feed.commands == commands);
  }
}

TEST_CASE("lines_are_commands_by_their_words") {
  Feed feed;
  CHECK(feed.add("\r\n\nPING\r\n  set  a\tb \nGET a\r") == ParseStatus::kNeedMore);
  feed.add("\n*0\r\n*-1\r\n");
  CHECK(feed.commands == std::vector<Words>{{"PING"}, {"set", "a", "b"}, {"GET", "a"}});
}

TEST_CASE("a_command_above_the_limit_is_skipped_and_costs_no_memory") {
  Feed feed(1000);
  const std::string block(64 << 10, 'x');
  feed.add("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$" + std::to_string(RespParser::kMaxBulk) + "\r\n");
  for (std::uint64_t sent = 0; sent < RespParser::kMaxBulk; sent += block.size()) {
    REQUIRE(feed.add(block) == ParseStatus::kNeedMore);
  }
  CHECK(feed.too_large == 0);
  feed.add("\r\n" + encode({"GET", "k"}));
  CHECK(feed.too_large == 1);
  CHECK(feed.commands == std::vector<Words>{{"GET", "k"}});
  CHECK(feed.most_kept <= block.size() + 100);
}

TEST_CASE("the_limit_is_of_all_arguments_together") {
  // With 4 bytes for each argument: 3 * 4 + 88 are 100.
  Feed exact(100), above(100);
  exact.add(encode({"SET", std::string(40, 'k'), std::string(45, 'v')}));
  above.add(encode({"SET", std::string(40, 'k'), std::string(46, 'v')}));
  CHECK(exact.commands.size() == 1);
  CHECK(above.commands.empty());
  CHECK(above.too_large == 1);
  // Many arguments of no bytes.
  Feed many(100);
  many.add(encode(Words(26, "")));
  CHECK(many.too_large == 1);
}

TEST_CASE("garbage_is_named_as_redis_names_it") {
  CHECK(garbage("*x\r\n") == "Protocol error: invalid multibulk length");
  CHECK(garbage("*1048577\r\n") == "Protocol error: invalid multibulk length");
  CHECK(garbage("*99999999999999999999\r\n") == "Protocol error: invalid multibulk length");
  CHECK(garbage("*1\r\n:1\r\n") == "Protocol error: expected '$', got ':'");
  CHECK(garbage("*1\r\n\r\n") == "Protocol error: expected '$', got ''");
  CHECK(garbage("*1\r\n$-1\r\n") == "Protocol error: invalid bulk length");
  CHECK(garbage("*1\r\n$536870913\r\n") == "Protocol error: invalid bulk length");
  CHECK(garbage("*1\r\n$3 \r\nGET\r\n") == "Protocol error: invalid bulk length");
  CHECK(garbage("*1\r\n$3\r\nGETTER\r\n").find("does not end") != std::string::npos);
  CHECK(garbage(std::string(RespParser::kMaxLine + 1, 'a')) ==
        "Protocol error: too big inline request");
  CHECK(garbage("*" + std::string(RespParser::kMaxLine + 1, '1')) ==
        "Protocol error: too big mbulk count string");
  CHECK(garbage("*1\r\n$" + std::string(RespParser::kMaxLine + 1, '1')) ==
        "Protocol error: too big bulk count string");
}

TEST_CASE("random_bytes_end_as_a_command_or_as_garbage") {
  std::mt19937 random(11);
  const std::string letters = "*$\r\n0123456789-ab :";
  for (int round = 0; round < 20'000; ++round) {
    Feed feed(64);
    std::string text;
    for (std::size_t i = 0, n = random() % 60; i < n; ++i)
      text += letters[random() % letters.size()];
    feed.add(text);
    for (const Words& words : feed.commands) REQUIRE(!words.empty());
  }
}

TEST_CASE("integers_are_whole_and_in_range") {
  std::int64_t value = 0;
  CHECK(store::parse_integer("-9223372036854775808", value));
  CHECK(!store::parse_integer("9223372036854775808", value));
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x1", "-"}) {
    INFO(text);
    CHECK(!store::parse_integer(text, value));
  }
}

TEST_CASE("what_is_no_command_costs_neither_stack_nor_memory") {
  for (const std::string_view nothing : {"\n", "\r\n", "*0\r\n", "*-1\r\n"}) {
    INFO(nothing);
    RespParser parser(64);
    std::string text;
    for (int i = 0; i < 300'000; ++i) text += nothing;
    std::size_t consumed = 0;
    CHECK(parser.next(text, consumed) == ParseStatus::kNeedMore);
    CHECK(consumed == text.size());
    text += "PING\r\n";
    CHECK(parser.next(text, consumed) == ParseStatus::kCommand);
    CHECK(consumed == text.size());
    REQUIRE(parser.arguments().size() == 1);
    CHECK(parser.arguments()[0] == "PING");
  }
}
