// SPDX-License-Identifier: MIT
// The hash against the values that its authors give.
#include "dtutils/fnv1a.hpp"

#include <array>

#include "support/catch.hpp"

using dtutils::Fnv1a;

TEST_CASE("fnv1a_gives_the_published_values") {
  CHECK(Fnv1a().value() == 0xcbf29ce484222325);
  CHECK(Fnv1a().text("a").value() == 0xaf63dc4c8601ec8c);
  CHECK(Fnv1a().text("foobar").value() == 0x85944171f73967e8);
  CHECK(Fnv1a().text("foo").text("bar").value() == 0x85944171f73967e8);
  constexpr std::array kBytes{std::byte{'f'}, std::byte{'o'}, std::byte{'o'}};
  CHECK(Fnv1a().bytes(kBytes).value() == Fnv1a().text("foo").value());
  CHECK(Fnv1a(Fnv1a().text("foo").value()).text("bar").value() == 0x85944171f73967e8);
}
