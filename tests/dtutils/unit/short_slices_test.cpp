// SPDX-License-Identifier: MIT
// What a thread that asked for short slices has, and what those that it starts have.
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <thread>

#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

namespace {

/// The slice of the calling thread in ns; 0: the kernel does not know of slices.
std::uint64_t slice() {
  std::array<std::uint64_t, 6> attributes{};  // sched_setattr(2): the fourth is the runtime.
  support::require(syscall(SYS_sched_getattr, 0, attributes.data(), sizeof attributes, 0) == 0,
                   "sched_getattr failed");
  return attributes[3];
}

}  // namespace

TEST_CASE("a_thread_that_asked_for_short_slices_has_them_and_those_that_it_starts_do_not") {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  std::uint64_t started = 0;
  int nice_before = 0;
  int nice_after = 0;
  std::thread([&] {
    before = slice();
    nice_before = getpriority(PRIO_PROCESS, 0);
    dtutils::ask_for_short_slices();
    after = slice();
    nice_after = getpriority(PRIO_PROCESS, 0);
    std::thread([&] { started = slice(); }).join();
  }).join();
  CHECK(nice_after == nice_before);
  CHECK(started == before);
  if (before == 0) {
    WARN("SKIPPED: this kernel does not tell of slices");
    return;
  }
  CHECK(after == 100'000);
}
