// SPDX-License-Identifier: MIT
// Whole jobs in a simulation: one seed is one run, whatever the program does.
#include <array>
#include <string>
#include <vector>

#include "dtutils/wait.hpp"
#include "simulation/simulation.hpp"
#include "simulation/support/with_seed.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "support/require.hpp"

using dsfabric::Fabric;
using dsfabric::Thread;
using dsfabric::ThreadId;
using dtutils::SimulationReport;
using support::require;
using support::with_seed;
using namespace std::chrono_literals;

TEST_CASE("simulated_job_runs_calls_and_barriers") {
  std::array<int, 5> ran{};
  const SimulationReport report = simulation::run(5, with_seed(1), [&](Fabric& fabric) {
    fabric.run([&](Thread& self) {
      dsfabric::SendChannel calls(self.fabric());
      const ThreadId next = self.neighbour(+1);
      require(calls.call(next, [to = &ran[next.process.value]] { ++*to; }), "accepted");
      self.barrier();
      CHECK(calls.call_return(next, [] { return 42; }).get() == 42);
    });
  });
  CHECK(report.error == "");
  CHECK(ran == std::array{1, 1, 1, 1, 1});
}

TEST_CASE("simulated_job_of_one_seed_is_one_run") {
  const auto program = [](std::vector<int>& log) {
    return [&log](Fabric& fabric) {
      fabric.run([&](Thread& self) {
        dsfabric::SendChannel calls(self.fabric());
        for (int round = 0; round < 10; ++round) {
          for (const int distance : {1, 2}) {
            const int me = self.id().process.value;
            require(calls.call(self.neighbour(distance), [to = &log, me] { to->push_back(me); }),
                    "accepted");
          }
          if (round % 4 == 0) self.barrier();
        }
      });
    };
  };
  std::vector<int> first_log;
  const SimulationReport first = simulation::run(4, with_seed(9), program(first_log));
  CHECK(first.error == "");
  CHECK(first_log.size() == 80);
  for (int i = 0; i < 4; ++i) {
    std::vector<int> log;
    const SimulationReport again = simulation::run(4, with_seed(9), program(log));
    CHECK(again.digest == first.digest);
    CHECK(again.events == first.events);
    CHECK(again.time == first.time);
    CHECK(log == first_log);
  }
  std::vector<int> log;
  CHECK(simulation::run(4, with_seed(10), program(log)).digest != first.digest);
}
