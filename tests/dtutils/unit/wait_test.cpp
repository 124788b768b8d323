// SPDX-License-Identifier: MIT
// Deadlines end, and patience goes from spinning over yielding to sleeping.
#include "dtutils/wait.hpp"

#include <sched.h>

#include <atomic>
#include <ctime>
#include <thread>

#include "support/catch.hpp"
#include "support/require.hpp"

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

void share_core(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  support::require(sched_setaffinity(0, sizeof set, &set) == 0, "sched_setaffinity failed");
}

/// How long so many calls take.
template <class Call>
nanoseconds time_of(int calls, Call call) {
  const auto start = steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  return steady_clock::now() - start;
}

}  // namespace

TEST_CASE("who_gives_way_beside_one_that_computes_comes_back_sooner_than_who_yields") {
  constexpr int kRounds = 4;
  constexpr int kCalls = 100;
  const int core = sched_getcpu();
  std::atomic<bool> over{false};
  std::thread computing([&] {
    share_core(core);
    while (!over.load(std::memory_order_relaxed)) {
    }
  });
  nanoseconds yielding{0};
  nanoseconds giving_way{0};
  std::thread([&] {
    share_core(core);
    for (int i = 0; i < kRounds; ++i) {
      yielding += time_of(kCalls, sched_yield);
      giving_way += time_of(kCalls, dtutils::give_way);
    }
  }).join();
  over.store(true, std::memory_order_relaxed);
  computing.join();
  CAPTURE(yielding.count(), giving_way.count());
  CHECK(3 * giving_way < 2 * yielding);
}

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
