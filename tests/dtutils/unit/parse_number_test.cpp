// SPDX-License-Identifier: MIT
// Numbers in texts: which are read, and what is none.
#include "dtutils/parse_number.hpp"

#include <cstdint>
#include <limits>
#include <string_view>

#include "support/catch.hpp"

using dtutils::parse_number;

TEST_CASE("numbers_are_read_to_the_limits_of_their_type") {
  CHECK(parse_number<std::uint16_t>("0") == std::uint16_t{0});
  CHECK(parse_number<std::uint16_t>("65535") == std::uint16_t{65535});
  CHECK_FALSE(parse_number<std::uint16_t>("65536"));
  CHECK(parse_number<std::uint32_t>("007") == 7u);
  CHECK(parse_number<std::uint64_t>("18446744073709551615") ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK_FALSE(parse_number<std::uint64_t>("18446744073709551616"));
  CHECK(parse_number<std::int64_t>("-9223372036854775808") ==
        std::numeric_limits<std::int64_t>::min());
  CHECK_FALSE(parse_number<std::int64_t>("-9223372036854775809"));
}

TEST_CASE("what_is_not_a_number_as_a_whole_is_none") {
  for (const std::string_view text :
       {"", " ", "-", "+1", " 1", "1 ", "1\n", "1x", "x1", "0x10", "1.0", "1e3", "1,000"}) {
    INFO(text);
    CHECK_FALSE(parse_number<std::uint32_t>(text));
    CHECK_FALSE(parse_number<std::int64_t>(text));
  }
  CHECK_FALSE(parse_number<std::uint32_t>("-1"));
  CHECK_FALSE(parse_number<std::uint32_t>(std::string_view("1\0", 2)));
  CHECK_FALSE(parse_number<std::uint32_t>(std::string_view()));
}

TEST_CASE("limits_of_the_caller_belong_to_the_range") {
  const auto read = [](std::string_view text) { return parse_number<std::uint32_t>(text, 2, 4); };
  CHECK_FALSE(read("1"));
  CHECK(read("2") == 2u);
  CHECK(read("4") == 4u);
  CHECK_FALSE(read("5"));
}
