// SPDX-License-Identifier: MIT
// What the kernel says about mappings, asked in both ways.
#include "software/protection.hpp"

#include <sys/mman.h>

#include <cstddef>
#include <optional>

#include "support/catch.hpp"

using dtutils::software::protection_by_reading;
using dtutils::software::protection_of;

TEST_CASE("protection_of_a_range_is_that_of_its_weakest_page") {
  constexpr std::size_t kPage = 4096;
  constexpr int kBoth = PROT_READ | PROT_WRITE;
  // Pages: hole, read and write, the same, read, none, hole.
  void* const mapped = mmap(nullptr, 6 * kPage, kBoth, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  auto* const pages = static_cast<std::byte*>(mapped);
  munmap(pages, kPage);
  mprotect(pages + 3 * kPage, kPage, PROT_READ);
  mprotect(pages + 4 * kPage, kPage, PROT_NONE);
  munmap(pages + 5 * kPage, kPage);
  const auto check = [&](std::size_t from, std::size_t length, std::optional<int> expected) {
    CHECK(protection_of(pages + from, length) == expected);
    CHECK(protection_by_reading(pages + from, length) == expected);
  };
  check(kPage, 2 * kPage, kBoth);
  check(kPage + 8, kPage, kBoth);
  check(2 * kPage, kPage + 1, PROT_READ);
  check(3 * kPage, kPage, PROT_READ);
  check(3 * kPage, 2 * kPage, 0);
  check(4 * kPage, kPage, 0);
  check(kPage - 1, 2, std::nullopt);
  check(4 * kPage, kPage + 1, std::nullopt);
  check(0, 6 * kPage, std::nullopt);
  munmap(pages + kPage, 4 * kPage);
}
