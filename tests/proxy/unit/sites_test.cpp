// SPDX-License-Identifier: MIT
// Lists of sites, and which of them a request is for.
#include "proxy/sites.hpp"

#include <string>

#include "dtutils/error.hpp"
#include "support/catch.hpp"

using proxy::parse_sites;
using proxy::site_of;

TEST_CASE("sites are found by their hosts, whatever the port and the case") {
  const auto sites = parse_sites("shop.example=127.0.0.1:81, news.example=[::1]:82,[::1]=a:83");
  REQUIRE(sites.size() == 3);
  CHECK((sites[1].host == "news.example" && sites[1].origin == "[::1]:82"));
  CHECK(site_of(sites, "shop.example") == 0);
  CHECK(site_of(sites, "News.Example:8080") == 1);
  CHECK(site_of(sites, "[::1]:8080") == 2);
  for (const char* const other : {"", "shop", "shop.example.org", "xshop.example", ":80", "["}) {
    CHECK(!site_of(sites, other));
  }
  CHECK(parse_sites("").empty());
}

TEST_CASE("lists of sites that say nothing, or two things, are refused") {
  for (const char* const bad :
       {"shop", "=127.0.0.1:81", "a=x:1,b", "a:80=x:1", "a=x:1,A=y:2", "a b=x:1", "a\\=x:1"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_sites(bad), dtutils::Error);
  }
  std::string many = "s=x:1";
  for (std::size_t i = 1; i < proxy::kMaxSites; ++i) many += ",s" + std::to_string(i) + "=x:1";
  CHECK(parse_sites(many).size() == proxy::kMaxSites);
  CHECK_THROWS_AS(parse_sites(many + ",t=x:1"), dtutils::Error);
}
