// SPDX-License-Identifier: MIT
// The limit on descriptors after it was raised, and where it cannot be.
#include "dtutils/descriptor_limit.hpp"

#include <sys/resource.h>

#include "support/catch.hpp"

TEST_CASE("the_limit_on_descriptors_becomes_the_hard_one") {
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit low{.rlim_cur = before.rlim_cur / 2, .rlim_max = before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
  for (int times = 0; times < 2; ++times) {
    CHECK(dtutils::raise_descriptor_limit() == before.rlim_max);
    rlimit now;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &now) == 0);
    CHECK(now.rlim_cur == before.rlim_max);
  }
  setrlimit(RLIMIT_NOFILE, &before);
}
