// SPDX-License-Identifier: MIT
// Addresses that a user writes: what is read, and what is refused in words.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "dtutils/tcp.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

using dtutils::HostPort;
using dtutils::parse_host_port;
using support::contains;

namespace {

std::string said_of(std::string_view text) {
  return support::error_text([&] { parse_host_port("test", text); });
}

}  // namespace

TEST_CASE("host_and_port_are_read") {
  const auto read = [](std::string_view text) {
    const HostPort at = parse_host_port("test", text);
    CHECK(at.text() == text);
    return std::pair(at.host, at.port);
  };
  CHECK(read("127.0.0.1:4711") == std::pair(std::string("127.0.0.1"), std::uint16_t{4711}));
  CHECK(read("node7.example:1") == std::pair(std::string("node7.example"), std::uint16_t{1}));
  CHECK(read("[::1]:65535") == std::pair(std::string("::1"), std::uint16_t{65535}));
  CHECK(read("[fe80::1%lo]:80") == std::pair(std::string("fe80::1%lo"), std::uint16_t{80}));
  CHECK(read(":0") == std::pair(std::string(), std::uint16_t{0}));
}

TEST_CASE("what_is_no_host_and_port_is_explained") {
  for (const char* const text : {"", "localhost", "[::1]", "[::1"}) {
    INFO(text);
    CHECK_THAT(said_of(text), contains("it has no port") && contains("write HOST:PORT"));
  }
  for (const char* const text :
       {"host:", "host:http", "host:-1", "host:+1", "host:65536", "host:99999999999999999999",
        "host: 1", "host:1 ", "host:0x10", "[::1]:", "[::1]:65536"}) {
    INFO(text);
    CHECK_THAT(said_of(text), contains("is no port") && contains("write HOST:PORT"));
  }
  for (const char* const text : {"[]:1", "[host]:1", "[::1]x:1", "[::1]::1"}) {
    INFO(text);
    CHECK_THAT(said_of(text), contains("the brackets hold no IPv6 address"));
  }
  for (const char* const text : {"::1:80", "::1", "a:b:80"}) {
    INFO(text);
    CHECK_THAT(said_of(text), contains("has brackets before its port"));
  }
}

TEST_CASE("addresses_are_told_from_names") {
  for (const char* const host : {"127.0.0.1", "::1", "fe80::1%lo"}) {
    CHECK(HostPort{host, 1}.is_literal());
  }
  for (const char* const host : {"", "localhost", "127.0.0.1 ", "[::1]", "::1::"}) {
    INFO(host);
    CHECK_FALSE(HostPort{host, 1}.is_literal());
  }
}
