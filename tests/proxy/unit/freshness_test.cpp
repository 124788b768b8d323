// SPDX-License-Identifier: MIT
// RFC 9111: what is stored, how long it is fresh, when it is used.
#include "proxy/freshness.hpp"

#include <string>

#include "proxy/http_date.hpp"
#include "proxy/support/times.hpp"
#include "support/catch.hpp"

using proxy::CacheControl;
using proxy::Use;
using proxy::Validity;

namespace {

constexpr std::int64_t kReceived = proxy_test::kToday * 1000;

/// A request and its response, which came half a second after it.
struct Exchange {
  explicit Exchange(const std::string& response_fields, const std::string& request_fields = "",
                    int status = 200)
      : request_head("GET / HTTP/1.1\r\nHost: a\r\n" + request_fields + "\r\n"),
        response_head("HTTP/1.1 " + std::to_string(status) + " X\r\n" + response_fields + "\r\n") {
    REQUIRE(proxy::parse_request(request_head, request) == 0);
    REQUIRE(proxy::parse_response(response_head, response));
    asked = proxy::cache_control_of(request.fields, true);
    told = proxy::cache_control_of(response.fields, false);
    validity = proxy::validity_of(response, told, kReceived - 500, kReceived);
  }
  bool stored() const { return proxy::may_store(request, asked, response, told, validity); }
  Use use(std::int64_t after) const { return proxy::use_of(validity, asked, kReceived + after); }

  std::string request_head, response_head;
  proxy::Request request;
  proxy::Response response;
  CacheControl asked, told;
  Validity validity;
};

std::string date(const char* name, std::int64_t seconds_from_now) {
  return std::string(name) + ": " + proxy::format_http_date(kReceived / 1000 + seconds_from_now) +
         "\r\n";
}

bool stored(const std::string& response, const std::string& request = "", int status = 200) {
  return Exchange(response, request, status).stored();
}

}  // namespace

TEST_CASE("s-maxage goes before max-age, max-age before Expires") {
  const std::string expires = date("Date", 0) + date("Expires", 30);
  CHECK(Exchange(expires).validity.lifetime == 30'000);
  CHECK(Exchange(expires + "Cache-Control: max-age=20\r\n").validity.lifetime == 20'000);
  CHECK(Exchange(expires + "Cache-Control: max-age=20, s-maxage=10\r\n").validity.lifetime ==
        10'000);
}

TEST_CASE("lifetimes that cannot be read are over") {
  CHECK(Exchange("Expires: 0\r\n").validity.lifetime == 0);
  CHECK(Exchange("Cache-Control: max-age=ten\r\n" + date("Expires", 9)).validity.lifetime == 0);
  CHECK(Exchange("Cache-Control: max-age=-1\r\n").validity.lifetime == 0);
  CHECK(Exchange("Cache-Control: max-age\r\n").validity.lifetime == 0);
  CHECK(Exchange("Cache-Control: max-age=5, max-age=3\r\n").validity.lifetime == 3'000);
  CHECK(Exchange("Cache-Control: max-age=99999999999999999999\r\n").validity.lifetime ==
        proxy::kMaxSeconds * 1000);
  CHECK(Exchange("Cache-Control: max-age=\"7\"\r\n").validity.lifetime == 7'000);
}

TEST_CASE("without a lifetime a tenth of the age of the document counts") {
  CHECK(Exchange(date("Date", 0) + date("Last-Modified", -1000)).validity.lifetime == 100'000);
  CHECK(Exchange(date("Last-Modified", -100'000'000)).validity.lifetime == 86'400'000);
  CHECK(Exchange(date("Last-Modified", 50)).validity.lifetime == 0);
  CHECK(Exchange(date("Last-Modified", -1000), "", 302).validity.lifetime == 0);
}

TEST_CASE("the age counts what upstream says and what the transfer took") {
  CHECK(Exchange("").validity.age(kReceived) == 500);
  CHECK(Exchange("Age: 10\r\n").validity.age(kReceived) == 10'500);
  CHECK(Exchange(date("Date", -20) + "Age: 10\r\n").validity.age(kReceived) == 20'000);
  CHECK(Exchange(date("Date", 20)).validity.age(kReceived) == 500);
  CHECK(Exchange("Age: x\r\nCache-Control: max-age=5\r\n").validity.left(kReceived) < 0);
  CHECK(Exchange("Age: 0\r\nAge: 0\r\nCache-Control: max-age=5\r\n").validity.left(kReceived) < 0);
  // Our clock was set back.
  CHECK(Exchange("").validity.age(kReceived - 60'000) == 0);
}

TEST_CASE("what may not be stored is not stored") {
  const std::string fresh = "Cache-Control: max-age=60\r\n";
  CHECK(stored(fresh));
  CHECK_FALSE(stored("Cache-Control: max-age=60, no-store\r\n"));
  CHECK_FALSE(stored("Cache-Control: max-age=60, Private\r\n"));
  CHECK_FALSE(stored("Cache-Control: private=\"x\", max-age=60\r\n"));
  CHECK_FALSE(stored(fresh, "Cache-Control: no-store\r\n"));
  CHECK_FALSE(stored(fresh + "Set-Cookie: a=b\r\n"));
  CHECK_FALSE(stored(fresh, "", 206));
  CHECK_FALSE(stored(fresh, "", 304));
  CHECK_FALSE(stored(fresh + "Content-Range: bytes 0-1/2\r\n"));
  CHECK_FALSE(stored("Cache-Control: max-age=0\r\n"));
  CHECK_FALSE(stored(""));
  CHECK(stored("ETag: \"a\"\r\n"));
  CHECK(stored("Cache-Control: no-cache\r\nETag: \"a\"\r\n"));
  CHECK_FALSE(stored("Cache-Control: no-cache\r\n"));
  CHECK(stored(fresh, "", 599));
  CHECK_FALSE(stored("Cache-Control: max-age=60, must-understand\r\n", "", 599));
  CHECK(stored(fresh, "", 404));
  CHECK(stored(fresh, "", 302));
  CHECK_FALSE(stored("ETag: \"a\"\r\n", "", 302));
}

TEST_CASE("responses to requests with credentials are stored only when that is said") {
  const std::string credentials = "Authorization: Basic eA==\r\n";
  CHECK_FALSE(stored("Cache-Control: max-age=60\r\n", credentials));
  CHECK(stored("Cache-Control: max-age=60, public\r\n", credentials));
  CHECK(stored("Cache-Control: s-maxage=60\r\n", credentials));
  CHECK(stored("Cache-Control: max-age=60, must-revalidate\r\n", credentials));
}

TEST_CASE("a fresh response is used, a stale one validated") {
  const Exchange exchange("Cache-Control: max-age=60\r\n");
  CHECK(exchange.use(59'499) == Use::kServe);
  CHECK(exchange.use(59'500) == Use::kRevalidate);
  CHECK(Exchange("Cache-Control: max-age=60, no-cache\r\n").use(0) == Use::kRevalidate);
}

TEST_CASE("a request can ask for more or less freshness") {
  const std::string fresh = "Cache-Control: max-age=60\r\n";
  CHECK(Exchange(fresh, "Cache-Control: no-cache\r\n").use(0) == Use::kRevalidate);
  CHECK(Exchange(fresh, "Pragma: no-cache\r\n").use(0) == Use::kRevalidate);
  CHECK(Exchange(fresh, "Pragma: no-cache\r\nCache-Control: x\r\n").use(0) == Use::kServe);
  CHECK(Exchange(fresh, "Cache-Control: max-age=10\r\n").use(9'000) == Use::kServe);
  CHECK(Exchange(fresh, "Cache-Control: max-age=10\r\n").use(10'000) == Use::kRevalidate);
  CHECK(Exchange(fresh, "Cache-Control: min-fresh=50\r\n").use(10'000) == Use::kRevalidate);
  CHECK(Exchange(fresh, "Cache-Control: max-stale=10\r\n").use(65'000) == Use::kServe);
  CHECK(Exchange(fresh, "Cache-Control: max-stale\r\n").use(6'500'000) == Use::kServe);
  CHECK(Exchange(fresh, "Cache-Control: max-stale=10\r\n").use(75'000) == Use::kRevalidate);
  CHECK(Exchange("Cache-Control: max-age=60, must-revalidate\r\n", "Cache-Control: max-stale\r\n")
            .use(65'000) == Use::kRevalidate);
}

TEST_CASE("stale responses are used while they are refreshed, and when the origin fails") {
  const Exchange exchange(
      "Cache-Control: max-age=60, stale-while-revalidate=10, stale-if-error=30\r\n");
  CHECK(exchange.use(61'000) == Use::kServeAndRefresh);
  CHECK(exchange.use(70'000) == Use::kRevalidate);
  CHECK(proxy::usable_on_error(exchange.validity, kReceived + 89'000));
  CHECK_FALSE(proxy::usable_on_error(exchange.validity, kReceived + 90'000));
  const Exchange strict(
      "Cache-Control: s-maxage=1, stale-while-revalidate=9, stale-if-error=9\r\n");
  CHECK(strict.use(2'000) == Use::kRevalidate);
  CHECK_FALSE(proxy::usable_on_error(strict.validity, kReceived + 2'000));
}
