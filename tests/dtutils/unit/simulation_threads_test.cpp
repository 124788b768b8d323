// SPDX-License-Identifier: MIT
// Threads of simulations keep what is theirs, whoever runs them.
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cfenv>
#include <stdexcept>
#include <string>

#include "dtutils/dtutils.hpp"
#include "dtutils/simulation.hpp"
#include "support/catch.hpp"

using namespace dtutils;
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
