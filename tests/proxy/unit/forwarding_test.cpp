// SPDX-License-Identifier: MIT
// What is passed on, keys of variants, and documents as bytes.
#include "proxy/forwarding.hpp"

#include <string>

#include "proxy/support/times.hpp"
#include "proxy/vary.hpp"
#include "support/catch.hpp"

using proxy_test::kThen;
using proxy_test::kToday;

namespace {

struct Answer {
  explicit Answer(const std::string& fields) : head("HTTP/1.1 200 OK\r\n" + fields + "\r\n") {
    REQUIRE(proxy::parse_response(head, response));
  }
  std::string head;
  proxy::Response response;
};

struct Question {
  explicit Question(const std::string& fields, const std::string& line = "GET /p HTTP/1.1")
      : head(line + "\r\nHost: A.org\r\n" + fields + "\r\n") {
    REQUIRE(proxy::parse_request(head, request) == 0);
  }
  std::string head;
  proxy::Request request;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("fields for one connection are not passed on") {
  const std::string text = proxy::forwarded_fields(
      Answer("Date: d\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nX-End: 2\r\nKeep-Alive: 5\r\n"
             "Transfer-Encoding: chunked\r\nAge: 3\r\nUpgrade: h2c\r\nTrailer: t\r\n")
          .response,
      kToday);
  CHECK(text == "Date: d\r\nX-End: 2\r\n");
}

TEST_CASE("a response without a date gets one") {
  CHECK(has(proxy::forwarded_fields(Answer("A: b\r\n").response, kToday), "Date: "));
}

TEST_CASE("a request of options says how often it may still be passed on") {
  const auto passed_on = [](const std::string& value, const std::string& line) {
    const Question question("Max-Forwards: " + value + "\r\n", line);
    return proxy::origin_request(question.request, {});
  };
  CHECK(has(passed_on("3", "OPTIONS /p HTTP/1.1"), "\r\nMax-Forwards: 2\r\n"));
  CHECK(has(passed_on("x", "OPTIONS /p HTTP/1.1"), "\r\nMax-Forwards: x\r\n"));
  // Other methods do not have it.
  CHECK(has(passed_on("3", "GET /p HTTP/1.1"), "\r\nMax-Forwards: 3\r\n"));
}

TEST_CASE("a request is passed on with what the proxy adds") {
  const Question question(
      "Via: 1.0 x\r\nRange: bytes=0-1\r\nIf-None-Match: \"a\"\r\nTE: trailers\r\n"
      "Expect: 100-continue\r\nX-Forwarded-For: 9.9.9.9\r\n");
  proxy::ForwardOptions options;
  options.client_address = "1.2.3.4";
  const std::string as_it_is = proxy::origin_request(question.request, options);
  CHECK(has(as_it_is, "GET /p HTTP/1.1\r\nHost: A.org\r\n"));
  CHECK(has(as_it_is, "Range: bytes=0-1\r\n"));
  CHECK(has(as_it_is, "Via: 1.0 x, 1.1 cariama\r\n"));
  CHECK(has(as_it_is, "X-Forwarded-For: 9.9.9.9, 1.2.3.4\r\n"));
  CHECK_FALSE(has(as_it_is, "TE:"));
  CHECK_FALSE(has(as_it_is, "Expect:"));
  options.whole = true;
  const std::string whole = proxy::origin_request(question.request, options);
  CHECK_FALSE(has(whole, "Range"));
  CHECK_FALSE(has(whole, "If-None-Match"));
}

TEST_CASE("a request cannot take its host or its length away by Connection") {
  const Question question("Connection: host, content-length\r\nContent-Length: 3\r\n",
                          "POST /p HTTP/1.1");
  proxy::ForwardOptions options;
  options.body = {proxy::Framing::Kind::kLength, 3};
  const std::string text = proxy::origin_request(question.request, options);
  CHECK(has(text, "Host: A.org\r\n"));
  CHECK(has(text, "Content-Length: 3\r\n"));
}

TEST_CASE("a 304 replaces the fields that it has, but for those of the body") {
  const std::string text = proxy::updated_fields(
      "Date: old\r\nContent-Type: a\r\nX: 1\r\nX: 2\r\nETag: \"e\"\r\n",
      Answer("Date: new\r\nContent-Type: b\r\nContent-Length: 0\r\nx: 3\r\n").response, kToday);
  CHECK(text == "Date: new\r\nx: 3\r\nContent-Type: a\r\nETag: \"e\"\r\n");
}

TEST_CASE("keys tell hosts, paths and variants apart") {
  std::string key;
  proxy::make_key(Question("").request, key);
  CHECK(key == "a.org/p");
  CHECK(proxy::vary_names(Answer("Vary: B, a\r\nVary: b\r\n").response.fields) == "a,b");
  CHECK(proxy::vary_names(Answer("Vary: a, *\r\n").response.fields) == "*");
  CHECK(proxy::vary_names(Answer("").response.fields).empty());
  const auto variant = [&](const std::string& fields, std::uint64_t generation = 1) {
    return proxy::variant_key(key, generation, "a,b", Question(fields).request.fields);
  };
  CHECK(variant("A: 1\r\nC: 5\r\n") == variant("a: 1\r\nC: 6\r\n"));
  CHECK(variant("A: 1\r\n") != variant("B: 1\r\n"));
  CHECK(variant("A: 1\r\n") != variant("A: 1\r\n", 2));
  CHECK(variant("") != variant("A: \r\n"));
}

TEST_CASE("a document is what it was built from") {
  const proxy::Validity validity{.born = 5, .lifetime = 7};
  proxy::DocumentBuilder builder("key", 200,
                                 "ETag: \"e\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                                 validity, kToday * 1000, 4);
  builder.append("bo");
  builder.append("dy");
  const proxy::DocumentPtr document = builder.finish();
  REQUIRE(document);
  CHECK(document->key() == "key");
  CHECK(document->body() == "body");
  CHECK(document->head().validity.lifetime == 7);
  CHECK(document->validators().etag == "\"e\"");
  CHECK(document->validators().last_modified == kThen);
}

TEST_CASE("bytes that are not the document that was asked for are none") {
  proxy::DocumentBuilder builder("key", 200, "A: b\r\n", {}, 0, 0);
  builder.append("body");
  const std::string bytes(builder.finish()->bytes());
  CHECK(proxy::Document::from_bytes(bytes, "key"));
  CHECK_FALSE(proxy::Document::from_bytes(bytes, "kex"));
  CHECK_FALSE(proxy::Document::from_bytes(bytes, "ke"));
  CHECK_FALSE(proxy::Document::from_bytes(bytes + "x", "key"));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    REQUIRE_FALSE(proxy::Document::from_bytes(bytes.substr(0, size), "key"));
  }
  for (std::size_t i = 0; i < 24; ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x7f);
    // Its kind and its status are numbers of any value.
    if (i < 4 || i >= 8) REQUIRE_FALSE(proxy::Document::from_bytes(changed, "key"));
  }
}
