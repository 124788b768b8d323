// SPDX-License-Identifier: MIT
// Heads: what is taken, and what is refused, above all what could be read in two ways.
#include "proxy/message.hpp"

#include <string>

#include "proxy/framing.hpp"
#include "proxy/vary.hpp"
#include "support/catch.hpp"

using proxy::FieldId;
using proxy::Framing;
using proxy::HeadScanner;

namespace {

/// The status of the refusal, 0 when none. The head is kept for the views.
struct Parsed {
  explicit Parsed(std::string text) : head(std::move(text)) {
    HeadScanner scanner;
    const auto result = scanner.scan(head);
    if (result != HeadScanner::Result::kDone) {
      status = result == HeadScanner::Result::kBad ? 400 : -1;
      return;
    }
    head.resize(scanner.size());
    status = proxy::parse_request(head, request);
    if (status == 0) status = proxy::request_framing(request, framing);
  }
  std::string head;
  proxy::Request request;
  Framing framing;
  int status = 0;
};

int status_of(const std::string& fields, const std::string& line = "GET / HTTP/1.1") {
  return Parsed(line + "\r\nHost: a\r\n" + fields + "\r\n").status;
}

bool response_is_taken(const std::string& text, bool to_head = false) {
  proxy::Response response;
  Framing framing;
  return proxy::parse_response(text, response) &&
         proxy::response_framing(response, to_head, framing);
}

}  // namespace

TEST_CASE("a head is found in pieces of any size") {
  const std::string head = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string stream = head + "body";
  for (std::size_t step = 1; step <= stream.size(); ++step) {
    HeadScanner scanner;
    std::size_t size = 0;
    auto result = HeadScanner::Result::kNeedMore;
    while (result == HeadScanner::Result::kNeedMore && size < stream.size()) {
      size = std::min(size + step, stream.size());
      result = scanner.scan(std::string_view(stream).substr(0, size));
    }
    REQUIRE(result == HeadScanner::Result::kDone);
    REQUIRE(scanner.size() == head.size());
  }
}

TEST_CASE("a plain request is parsed") {
  const Parsed parsed("GET /a?b=c HTTP/1.1\r\nHost: Example.org:80\r\nX-Y:  v \r\n\r\n");
  REQUIRE(parsed.status == 0);
  CHECK(parsed.request.method == proxy::Method::kGet);
  CHECK(parsed.request.path == "/a?b=c");
  CHECK(parsed.request.host == "Example.org:80");
  CHECK((parsed.request.fields.begin() + 1)->value == "v");
  CHECK(parsed.framing.kind == Framing::Kind::kNone);
}

TEST_CASE("a target in absolute form names the host") {
  const Parsed parsed("GET http://other/p HTTP/1.1\r\nHost: a\r\n\r\n");
  REQUIRE(parsed.status == 0);
  CHECK(parsed.request.host == "other");
  CHECK(parsed.request.path == "/p");
  CHECK(Parsed("GET http://other HTTP/1.1\r\nHost: a\r\n\r\n").request.path == "/");
  CHECK(Parsed("OPTIONS http://other HTTP/1.1\r\nHost: a\r\n\r\n").request.path == "*");
  CHECK(Parsed("OPTIONS http://other/ HTTP/1.1\r\nHost: a\r\n\r\n").request.path == "/");
  for (const char* const method : {"GET", "OPTIONS"}) {
    const Parsed query(std::string(method) + " http://other?a=/b HTTP/1.1\r\nHost: a\r\n\r\n");
    REQUIRE(query.status == 0);
    CHECK(query.request.host == "other");
    CHECK(std::string(query.request.root()).append(query.request.path) == "/?a=/b");
    std::string key;
    proxy::make_key(query.request, key);
    CHECK(key == "other/?a=/b");
  }
  CHECK(parsed.request.root().empty());
  CHECK(Parsed("GET http://?a HTTP/1.1\r\nHost: a\r\n\r\n").status == 400);
  CHECK(Parsed("GET http:///p HTTP/1.1\r\nHost: a\r\n\r\n").status == 400);
  CHECK(Parsed("GET http://u@o/p HTTP/1.1\r\nHost: a\r\n\r\n").status == 400);
  CHECK(Parsed("GET ftp://other/ HTTP/1.1\r\nHost: a\r\n\r\n").status == 400);
}

TEST_CASE("a request line that is not plain is refused") {
  CHECK(status_of("", "GET / HTTP/2.0") == 505);
  CHECK(status_of("", "GET / HTTP/1.1 ") == 400);
  CHECK(status_of("", "GET  / HTTP/1.1") == 400);
  CHECK(status_of("", "GET /a b HTTP/1.1") == 400);
  CHECK(status_of("", "GET\t/ HTTP/1.1") == 400);
  CHECK(status_of("", "G@T / HTTP/1.1") == 400);
  CHECK(status_of("", "GET / http/1.1") == 400);
  CHECK(status_of("", "GET /#f HTTP/1.1") == 400);
  CHECK(status_of("", "GET /\x80 HTTP/1.1") == 400);
  CHECK(status_of("", "GET * HTTP/1.1") == 400);
  CHECK(status_of("", "OPTIONS * HTTP/1.1") == 0);
  CHECK(status_of("", "GET /" + std::string(proxy::kMaxTarget, 'a') + " HTTP/1.1") == 414);
}

TEST_CASE("of the request before nothing stays in one that is refused") {
  Parsed parsed("HEAD /before HTTP/1.0\r\nHost: before\r\n\r\n");
  REQUIRE(parsed.status == 0);
  REQUIRE(proxy::parse_request("nothing\r\n\r\n", parsed.request) == 400);
  CHECK(parsed.request.method == proxy::Method::kOther);
  CHECK(parsed.request.method_name.empty());
  CHECK(parsed.request.path.empty());
  CHECK(parsed.request.host.empty());
  CHECK(parsed.request.minor_version == 1);
  CHECK(parsed.request.fields.size() == 0);
}

TEST_CASE("field lines that are not plain are refused") {
  CHECK(status_of("A: b\r\n c\r\n") == 400);
  CHECK(status_of("A : b\r\n") == 400);
  CHECK(status_of(": b\r\n") == 400);
  CHECK(status_of("A\r\n") == 400);
  CHECK(status_of("A: b\nC: d\r\n") == 400);
  CHECK(status_of("A: b\rC: d\r\n") == 400);
  CHECK(status_of(std::string("A: b\0\r\n", 7)) == 400);
  CHECK(status_of("A\x80: b\r\n") == 400);
  CHECK(status_of("A: \x80\r\n") == 0);
  std::string many;
  for (std::size_t i = 0; i < proxy::kMaxFields; ++i) many += "A: b\r\n";
  CHECK(status_of(many) == 431);
}

TEST_CASE("a request has exactly one host") {
  CHECK(Parsed("GET / HTTP/1.1\r\n\r\n").status == 400);
  CHECK(Parsed("GET / HTTP/1.0\r\n\r\n").status == 0);
  CHECK(status_of("Host: a\r\n") == 400);
  CHECK(Parsed("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n").status == 400);
  CHECK(Parsed("GET / HTTP/1.1\r\nHost: a b\r\n\r\n").status == 400);
  CHECK(Parsed("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n").status == 0);
}

TEST_CASE("a request whose end is ambiguous is refused") {
  const std::string post = "POST / HTTP/1.1";
  CHECK(status_of("Content-Length: 5\r\nContent-Length: 5\r\n", post) == 400);
  CHECK(status_of("Content-Length: 5\r\nContent-Length: 6\r\n", post) == 400);
  CHECK(status_of("Content-Length: 5, 5\r\n", post) == 400);
  CHECK(status_of("Content-Length: +5\r\n", post) == 400);
  CHECK(status_of("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", post) == 400);
  CHECK(status_of("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", post) == 400);
  CHECK(status_of("Transfer-Encoding: xchunked\r\n", post) == 501);
  CHECK(status_of("Transfer-Encoding: chunked, gzip\r\n", post) == 501);
  CHECK(status_of("Transfer-Encoding: chunked\r\n", "POST / HTTP/1.0") == 400);
  CHECK(status_of("Transfer-Encoding: Chunked\r\n", post) == 0);
}

TEST_CASE("a response whose end is ambiguous is refused") {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  CHECK(response_is_taken(ok + "\r\n"));
  CHECK(response_is_taken("HTTP/1.1 200\r\n\r\n"));
  CHECK_FALSE(response_is_taken(ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n"));
  CHECK_FALSE(response_is_taken(ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"));
  CHECK_FALSE(response_is_taken("HTTP/2 200 OK\r\n\r\n"));
  CHECK_FALSE(response_is_taken("HTTP/1.1 20 OK\r\n\r\n"));
  CHECK_FALSE(response_is_taken("HTTP/1.1 999 OK\r\n\r\n"));
  CHECK_FALSE(response_is_taken("220 smtp.example.org ESMTP\r\n\r\n"));
}

TEST_CASE("some responses have no body whatever they say") {
  proxy::Response response;
  Framing framing;
  const auto kind = [&](const std::string& text, bool to_head) {
    REQUIRE(proxy::parse_response(text, response));
    REQUIRE(proxy::response_framing(response, to_head, framing));
    return framing.kind;
  };
  CHECK(kind("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true) == Framing::Kind::kNone);
  CHECK(kind("HTTP/1.1 304 NM\r\nContent-Length: 5\r\n\r\n", false) == Framing::Kind::kNone);
  CHECK(kind("HTTP/1.1 304 NM\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", false) ==
        Framing::Kind::kNone);
  CHECK(kind("HTTP/1.1 204 NC\r\n\r\n", false) == Framing::Kind::kNone);
  CHECK(kind("HTTP/1.1 200 OK\r\n\r\n", false) == Framing::Kind::kUntilClose);
}

TEST_CASE("connections are kept as the version and Connection say") {
  const auto keeps = [](const std::string& fields, const std::string& version) {
    const Parsed parsed("GET / HTTP/" + version + "\r\nHost: a\r\n" + fields + "\r\n");
    return proxy::keeps_alive(parsed.request.fields, parsed.request.minor_version);
  };
  CHECK(keeps("", "1.1"));
  CHECK_FALSE(keeps("", "1.0"));
  CHECK(keeps("Connection: Keep-Alive\r\n", "1.0"));
  CHECK_FALSE(keeps("Connection: x, CLOSE\r\n", "1.1"));
  CHECK_FALSE(keeps("Connection: keep-alive\r\nConnection: close\r\n", "1.1"));
}
