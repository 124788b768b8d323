// SPDX-License-Identifier: MIT
// Threads of simulations keep what is theirs, whoever runs them.
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cfenv>
#include <stdexcept>
#include <string>

#include "dtutils/dtutils.hpp"
#include "dtutils/simulation.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "support/require.hpp"

using namespace dtutils;
using support::contains;
using support::require;
using namespace std::chrono_literals;

namespace {

thread_local int local = -1;

/// Its destructor runs when the thread ends.
struct CountedEnd {
  std::atomic<int>* ends = nullptr;
  ~CountedEnd() {
    if (ends != nullptr) ++*ends;
  }
};
thread_local CountedEnd counted_end;

/// What it was when the thread began is there after each wait, in the depth of a stack, too.
bool keeps(int number, int depth) {
  const pthread_t self = pthread_self();
  errno = number;
  sleep_for(std::chrono::microseconds(1 + (number * 7 + depth) % 5));
  const bool kept = local == number && errno == number && pthread_equal(self, pthread_self()) != 0;
  return kept && (depth == 0 || keeps(number, depth - 1));
}

SimulationReport run_many(bool visible, int& kept, std::atomic<int>& ends) {
  SimulationOptions options;
  options.visible_threads = visible;
  options.disorder.any_order = true;
  Simulation simulation(options);
  constexpr int kNodes = 8;
  for (int node = 0; node < kNodes; ++node) {
    simulation.start(static_cast<Simulation::Node>(node), [&, node] {
      local = node;
      counted_end.ends = &ends;
      // Threads of threads begin and end meanwhile.
      for (int i = 1; i <= 3; ++i) {
        JoinableThread other([&, number = kNodes * i + node] {
          local = number;
          counted_end.ends = &ends;
          kept += keeps(number, 10) ? 1 : 0;
        });
        kept += keeps(node, 5) ? 1 : 0;
        other.join();
      }
      try {
        sleep_for(1us);
        throw std::runtime_error("caught after a wait");
      } catch (const std::runtime_error& error) {
        sleep_for(1us);
        kept += std::string("caught after a wait") == error.what() ? 1 : 0;
      }
    });
  }
  return simulation.run();
}

}  // namespace

TEST_CASE("simulated_threads_keep_their_variables_and_stacks_and_the_run_is_the_same_either_way") {
  int kept[2] = {};
  std::atomic<int> ends[2] = {};
  SimulationReport reports[2];
  for (const bool visible : {false, true}) {
    reports[visible] = run_many(visible, kept[visible], ends[visible]);
    CHECK(reports[visible].error.empty());
    CHECK(kept[visible] == 8 * 7);
    CHECK(ends[visible] == 8 * 4);
  }
  CHECK(reports[0].digest == reports[1].digest);
  CHECK(reports[0].switches == reports[1].switches);
}

TEST_CASE("simulated_threads_keep_their_rounding_mode") {
  Simulation simulation;
  int modes = 0;
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TONEAREST}) {
    simulation.start(0, [&, mode] {
      std::fesetround(mode);
      for (int i = 0; i < 20; ++i) {
        sleep_for(1us);
        modes += std::fegetround() == mode ? 1 : 0;
      }
    });
  }
  CHECK(simulation.run().error.empty());
  CHECK(modes == 60);
}

TEST_CASE("simulation_that_cannot_end_reports_and_the_next_one_runs") {
  for (const bool visible : {false, true}) {
    SimulationOptions options;
    options.visible_threads = visible;
    options.time_limit = 1ms;
    {
      Simulation simulation(options);
      simulation.start(0, [] { sleep_for(1h); });
      CHECK(simulation.run().error.find("still wait: 0 of node 0") != std::string::npos);
    }
    Simulation simulation(options);
    bool ran = false;
    simulation.start(0, [&] {
      sleep_for(10us);
      ran = true;
    });
    CHECK(simulation.run().error.empty());
    CHECK(ran);
  }
}

TEST_CASE("simulation_that_cannot_end_says_why_and_who_waits_for_what") {
  SimulationOptions options;
  options.time_limit = 1500us;
  Simulation late(options);
  late.start(0, [] { sleep_for(1h); });
  late.start(3, [] {
    dtutils::Backoff backoff;
    for (;;) backoff.pause();
  });
  const std::string why = late.run().error;
  CHECK_THAT(why, contains("the limit of 1500000ns (time_limit) of virtual time is over"));
  CHECK_THAT(why, contains("0 of node 0, which sleeps since"));
  CHECK_THAT(why, contains("1 of node 3, which looks for something in vain since"));
  CHECK(why.find("nothing happens any more") == std::string::npos);

  Simulation stuck;
  stuck.start(0, [] {
    std::array<int, 2> ends{};
    require(pipe(ends.data()) == 0, "a pipe");
    pollfd nothing{ends[0], POLLIN, 0};
    dtutils::JoinableThread other([&] {
      dtutils::wait_for_events({&nothing, 1}, std::chrono::milliseconds(-1));
    });
    other.join();
  });
  const std::string when = stuck.run().error;
  CHECK_THAT(when, contains("of virtual time nothing happens any more"));
  CHECK_THAT(when, contains("0 of node 0, for the end of thread 1"));
  CHECK_THAT(when, contains("1 of node 0, for descriptors since"));
}

TEST_CASE("simulation_names_some_of_many_that_wait_and_those_that_live_first") {
  SimulationOptions options;
  options.time_limit = 1ms;
  Simulation simulation(options);
  for (std::uint32_t node = 0; node < 40; ++node) simulation.start(node, [] { sleep_for(1h); });
  simulation.at(10us, [&] {
    for (std::uint32_t node = 0; node < 39; ++node) simulation.crash(node);
  });
  const std::string why = simulation.run().error;
  CHECK_THAT(why, contains("still wait: 39 of node 39, which sleeps"));
  CHECK(why.ends_with("; and 8 more"));
}

TEST_CASE("simulated_thread_that_throws_no_exception_is_reported_with_its_node") {
  Simulation simulation;
  simulation.start(0, [] { sleep_for(1us); });
  simulation.start(1, [] { throw 42; });
  CHECK(simulation.run().error == "node 1: it has thrown what is no std::exception");
}
