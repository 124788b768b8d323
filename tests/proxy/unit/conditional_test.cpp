// SPDX-License-Identifier: MIT
// Validators and ranges.
#include "proxy/conditional.hpp"

#include <string>

#include "proxy/message.hpp"
#include "proxy/support/times.hpp"
#include "support/catch.hpp"

using Kind = proxy::ByteRange::Kind;

using proxy_test::kThen;
using proxy_test::kToday;

namespace {

struct Asked {
  explicit Asked(const std::string& fields)
      : head("GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n") {
    REQUIRE(proxy::parse_request(head, request) == 0);
  }
  bool unmodified(const proxy::Validators& validators) const {
    return proxy::not_modified(request.fields, validators, kToday);
  }
  std::string head;
  proxy::Request request;
};

Kind kind(std::string_view value, std::uint64_t length) {
  return proxy::parse_range(value, length).kind;
}

}  // namespace

TEST_CASE("If-None-Match compares weakly, and goes before dates") {
  const proxy::Validators strong{"\"a\"", kThen}, weak{"W/\"a\"", kThen};
  CHECK(Asked("If-None-Match: \"a\"\r\n").unmodified(strong));
  CHECK(Asked("If-None-Match: \"x\", W/\"a\"\r\n").unmodified(strong));
  CHECK(Asked("If-None-Match: \"a\"\r\n").unmodified(weak));
  CHECK(Asked("If-None-Match: *\r\n").unmodified(strong));
  CHECK_FALSE(Asked("If-None-Match: \"b\"\r\n").unmodified(strong));
  CHECK_FALSE(Asked("If-None-Match: \"a\"\r\n").unmodified({}));
  CHECK_FALSE(Asked("If-None-Match: a\r\n").unmodified(strong));
  CHECK_FALSE(Asked("If-None-Match: \"b\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n")
                  .unmodified(strong));
}

TEST_CASE("If-Modified-Since compares dates") {
  const proxy::Validators validators{"", kThen};
  CHECK(Asked("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n").unmodified(validators));
  CHECK_FALSE(Asked("If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n").unmodified(validators));
  CHECK_FALSE(Asked("If-Modified-Since: yesterday\r\n").unmodified(validators));
  CHECK_FALSE(Asked("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n").unmodified({}));
}

TEST_CASE("If-Range holds for the same strong tag only") {
  const auto holds = [](const std::string& fields, std::string_view etag) {
    return proxy::if_range_holds(Asked(fields).request.fields, {etag, kThen});
  };
  CHECK(holds("", "\"a\""));
  CHECK(holds("If-Range: \"a\"\r\n", "\"a\""));
  CHECK_FALSE(holds("If-Range: \"b\"\r\n", "\"a\""));
  CHECK_FALSE(holds("If-Range: W/\"a\"\r\n", "W/\"a\""));
  CHECK_FALSE(holds("If-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "\"a\""));
}

TEST_CASE("ranges are cut to what exists") {
  const auto part = [](std::string_view value, std::uint64_t length) {
    const proxy::ByteRange range = proxy::parse_range(value, length);
    REQUIRE(range.kind == Kind::kPart);
    return std::pair(range.begin, range.end);
  };
  using Part = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(part("bytes=0-0", 10) == Part(0, 1));
  CHECK(part("bytes=3-", 10) == Part(3, 10));
  CHECK(part("bytes=3-99", 10) == Part(3, 10));
  CHECK(part("bytes=0-18446744073709551615", 10) == Part(0, 10));
  CHECK(part("bytes=-4", 10) == Part(6, 10));
  CHECK(part("Bytes=-99", 10) == Part(0, 10));
}

TEST_CASE("ranges that do not exist are told from ranges that cannot be read") {
  CHECK(kind("bytes=10-", 10) == Kind::kNone);
  CHECK(kind("bytes=-0", 10) == Kind::kNone);
  CHECK(kind("bytes=0-", 0) == Kind::kNone);
  for (const char* whole :
       {"", "bytes=", "bytes=-", "bytes=5-3", "bytes=a-b", "bytes=1", "lines=1-2", "bytes=0-1,3-4",
        "bytes=+1-2", "bytes=99999999999999999999-", "bytes=0-99999999999999999999", "bytes=--1"}) {
    CAPTURE(whole);
    CHECK(kind(whole, 10) == Kind::kWhole);
  }
}
