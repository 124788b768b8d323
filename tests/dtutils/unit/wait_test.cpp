// SPDX-License-Identifier: MIT
// Deadlines end, and patience goes from spinning over yielding to sleeping.
#include "dtutils/wait.hpp"

#include <ctime>

#include "support/catch.hpp"

using dtutils::Backoff;
using dtutils::Deadline;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

namespace {

nanoseconds cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

}  // namespace

TEST_CASE("deadline_of_no_time_has_passed_at_the_first_look") {
  CHECK(Deadline(nanoseconds(0)).passed());
  CHECK(Deadline(nanoseconds(-5)).passed());
}

TEST_CASE("deadline_never_passes_early") {
  const auto start = steady_clock::now();
  constexpr std::chrono::milliseconds kTime(5);
  Deadline deadline(kTime);
  while (!deadline.passed()) {
  }
  CHECK(steady_clock::now() - start >= kTime);
}

TEST_CASE("longest_deadline_does_not_overflow") {
  Deadline deadline(nanoseconds::max());
  for (int i = 0; i < 100; ++i) CHECK_FALSE(deadline.passed());
}

TEST_CASE("long_wait_sleeps") {
  Backoff backoff;
  for (std::uint32_t i = 0; i < dtutils::kSpinPolls + dtutils::kYieldPolls; ++i) backoff.pause();
  const auto start = steady_clock::now();
  const nanoseconds cpu_before = cpu_time();
  constexpr int kPauses = 50;
  for (int i = 0; i < kPauses; ++i) backoff.pause();
  const auto slept = steady_clock::now() - start;
  CHECK(slept >= kPauses * std::chrono::microseconds(dtutils::kIdleSleepMicroseconds));
  CHECK(cpu_time() - cpu_before < slept);
}

TEST_CASE("wait_without_yields_sleeps_after_its_spins") {
  Backoff backoff(0);
  for (std::uint32_t i = 0; i < dtutils::kSpinPolls; ++i) backoff.pause();
  const auto start = steady_clock::now();
  constexpr int kPauses = 10;
  for (int i = 0; i < kPauses; ++i) backoff.pause();
  CHECK(steady_clock::now() - start >=
        kPauses * std::chrono::microseconds(dtutils::kIdleSleepMicroseconds));
}

TEST_CASE("very_long_wait_hardly_costs_anything") {
  Backoff backoff;
  for (std::uint32_t i = 0; i < dtutils::kSpinPolls + dtutils::kYieldPolls; ++i) backoff.pause();
  const auto sleep_of_100 = [&] {
    const auto start = steady_clock::now();
    for (int i = 0; i < 100; ++i) backoff.pause();
    return steady_clock::now() - start;
  };
  sleep_of_100();
  sleep_of_100();
  // Each is at least 25 times as long as the first one by now; and none is much longer than 4 ms.
  CHECK(sleep_of_100() >= 100 * std::chrono::microseconds(1250));
  CHECK(sleep_of_100() < 100 * std::chrono::milliseconds(20));
}

TEST_CASE("reset_goes_back_to_spinning") {
  Backoff backoff;
  for (std::uint32_t i = 0; i < dtutils::kSpinPolls + dtutils::kYieldPolls + 1; ++i) {
    backoff.pause();
  }
  backoff.reset();
  const auto start = steady_clock::now();
  const nanoseconds cpu_before = cpu_time();
  for (std::uint32_t i = 0; i < dtutils::kSpinPolls; ++i) backoff.pause();
  // Had it slept at each of these, it would have taken much longer than this on any machine; the
  // CPU time does not count what others used of the core.
  const auto all_asleep =
      dtutils::kSpinPolls * std::chrono::microseconds(dtutils::kIdleSleepMicroseconds);
  CHECK((steady_clock::now() - start < all_asleep || cpu_time() - cpu_before < all_asleep));
}
