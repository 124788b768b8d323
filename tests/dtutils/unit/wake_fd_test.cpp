// SPDX-License-Identifier: MIT
// WakeFd: no wake is missed, by a thread of the machine or of a simulation.
#include "dtutils/wake_fd.hpp"

#include <atomic>

#include "dtutils/joinable_thread.hpp"
#include "dtutils/simulation.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"

using namespace dtutils;
using namespace std::chrono_literals;

namespace {

constexpr int kPieces = 200;

/// Whether there is a wake, or comes one within the time.
bool woken_within(WakeFd& wake, std::chrono::milliseconds time) {
  pollfd news[] = {{wake.fd(), POLLIN, 0}};
  return wait_for_events(news, time) == 1;
}

/// Takes all pieces of work that another thread makes, sleeping in between; as the header shows.
int take_all(WakeFd& wake, std::atomic<int>& work) {
  int taken = 0;
  while (taken < kPieces) {
    wake.clear();
    if (const int some = work.exchange(0)) {
      taken += some;
      continue;
    }
    if (!woken_within(wake, 20s)) break;
  }
  return taken;
}

void make_all(WakeFd& wake, std::atomic<int>& work) {
  for (int i = 0; i < kPieces; ++i) {
    ++work;
    wake.wake();
    if (i % 3 == 0) sleep_for(std::chrono::microseconds(i % 7));
  }
}

}  // namespace

TEST_CASE("wake_is_kept_until_it_is_cleared") {
  WakeFd wake;
  CHECK_FALSE(woken_within(wake, 0ms));
  wake.wake();
  wake.wake();
  CHECK(woken_within(wake, 20s));
  CHECK(woken_within(wake, 0ms));
  wake.clear();
  CHECK_FALSE(woken_within(wake, 0ms));
  wake.clear();
  CHECK_FALSE(woken_within(wake, 0ms));
}

TEST_CASE("no_wake_is_missed_between_clear_and_the_wait") {
  WakeFd wake;
  std::atomic<int> work{0};
  JoinableThread other([&] { make_all(wake, work); });
  CHECK(take_all(wake, work) == kPieces);
  other.join();
}

TEST_CASE("wakes_end_the_waits_of_simulated_threads_at_their_time") {
  SimulationOptions options;
  options.disorder.any_order = true;
  Simulation simulation(options);
  int taken = 0;
  std::chrono::nanoseconds woken_at{0};
  simulation.start(0, [&] {
    WakeFd wake;
    std::atomic<int> work{0};
    JoinableThread other([&] {
      sleep_for(5ms);
      make_all(wake, work);
    });
    (void)woken_within(wake, 20s);
    woken_at = Simulation::current()->time();
    taken = take_all(wake, work);
    other.join();
  });
  CHECK(simulation.run().error.empty());
  CHECK(taken == kPieces);
  CHECK(woken_at >= 5ms);
  CHECK(woken_at < 6ms);
}
