// SPDX-License-Identifier: MIT
// Words that are written in parts.
#include "dtutils/hashed_word.hpp"

#include "support/catch.hpp"

using dtutils::hashed_word;
using dtutils::is_hashed_word;
using dtutils::kHashedMask;

TEST_CASE("hashed_word_keeps_its_value_and_belongs_to_its_salt") {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, kHashedMask}) {
    CHECK((hashed_word(value, 7) & kHashedMask) == value);
    CHECK(is_hashed_word(hashed_word(value, 7), 7));
    CHECK_FALSE(is_hashed_word(hashed_word(value, 7), 8));
    CHECK_FALSE(is_hashed_word(0, value + 1));
  }
}

TEST_CASE("part_of_one_hashed_word_and_part_of_the_next_is_neither") {
  for (std::uint64_t salt = 1; salt < 300; ++salt) {
    // As counts do: the word before had the larger one, and the low bytes carry.
    const std::uint64_t before = hashed_word(0x1ff, salt - 1);
    const std::uint64_t after = hashed_word(salt, salt);
    for (unsigned old = 1; old < 256; ++old) {
      std::uint64_t mixed = after;
      for (unsigned byte = 0; byte < 8; ++byte) {
        const std::uint64_t mask = std::uint64_t{0xff} << (8 * byte);
        if ((old >> byte & 1) != 0) mixed = (mixed & ~mask) | (before & mask);
      }
      if (mixed == after) continue;
      CAPTURE(salt, old);
      REQUIRE_FALSE(is_hashed_word(mixed, salt));
    }
  }
}
