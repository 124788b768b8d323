// SPDX-License-Identifier: MIT
// Lists, numbers and dates as HTTP writes them.
#include "proxy/text.hpp"

#include <string>
#include <vector>

#include "proxy/http_date.hpp"
#include "proxy/support/times.hpp"
#include "support/catch.hpp"

using proxy_test::kThen;
using proxy_test::kToday;

namespace {

std::vector<std::string> elements(std::string_view list) {
  std::vector<std::string> all;
  std::string_view element;
  while (proxy::next_element(list, element)) all.emplace_back(element);
  return all;
}

}  // namespace

TEST_CASE("lists are split at commas outside of quotes") {
  CHECK(elements("a, b ,c") == std::vector<std::string>{"a", "b", "c"});
  CHECK(elements(" , ,a,,") == std::vector<std::string>{"a"});
  CHECK(elements("\"x,y\", W/\"a\\\",b\"") == std::vector<std::string>{"\"x,y\"", "W/\"a\\\",b\""});
  CHECK(elements("\"never ends, a") == std::vector<std::string>{"\"never ends, a"});
  CHECK(elements("").empty());
}

TEST_CASE("numbers have digits only and fit") {
  CHECK(proxy::parse_decimal("18446744073709551615") == UINT64_MAX);
  CHECK(proxy::parse_decimal("007") == 7u);
  for (const char* bad : {"", "+1", "-1", " 1", "1 ", "0x1", "1,1", "18446744073709551616"}) {
    CAPTURE(bad);
    CHECK_FALSE(proxy::parse_decimal(bad));
  }
}

TEST_CASE("dates are read in all three forms") {
  CHECK(proxy::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT", kToday) == kThen);
  CHECK(proxy::parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT", kToday) == kThen);
  CHECK(proxy::parse_http_date("Sun Nov  6 08:49:37 1994", kToday) == kThen);
  // Two digits more than 50 years ahead are of the century before.
  CHECK(proxy::parse_http_date("Tuesday, 25-Nov-76 00:00:00 GMT", kToday) > kToday);
  CHECK(proxy::parse_http_date("Friday, 25-Nov-77 00:00:00 GMT", kToday) < kToday);
  CHECK(proxy::format_http_date(kThen) == "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST_CASE("what is no date is none") {
  for (const char* bad :
       {"", "0", "-1", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 PST",
        "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 19x4 08:49:37 GMT", "Sun, 06 Nov 1994", "Sun Nov  6 08:49:37"}) {
    CAPTURE(bad);
    CHECK_FALSE(proxy::parse_http_date(bad, kToday));
  }
}
