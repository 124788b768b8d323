// SPDX-License-Identifier: MIT
// How simulated nodes meet: they connect when they first talk, and hear of each other's ends.
#include <set>
#include <string>
#include <vector>

#include "dtutils/wait.hpp"
#include "simulation/run_main.hpp"
#include "simulation/simulation.hpp"
#include "simulation/support/with_seed.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "support/require.hpp"

using dsfabric::Fabric;
using dsfabric::ProcessId;
using dsfabric::Thread;
using dtutils::SimulationReport;
using support::require;
using support::with_seed;
using namespace std::chrono_literals;

namespace {

/// Other processes that it is connected with.
std::set<unsigned> connections(const Fabric& fabric) {
  std::set<unsigned> all;
  for (std::uint16_t i = 0; i < fabric.processes(); ++i) {
    if (i != fabric.process().value && fabric.connected({i})) all.insert(i);
  }
  return all;
}

/// Joins three jobs, one after the other, and talks in each of them.
int program_of_three_jobs(int argc, char** argv) {
  for (int job = 1; job <= 3; ++job) {
    Fabric fabric = dsfabric::join(argc, argv);
    if (!connections(fabric).empty()) return 1;
    fabric.run([&](Thread& self) {
      dsfabric::SendChannel calls(self.fabric());
      for (const int distance : {1, job}) {
        const int got = calls.call_return(self.neighbour(distance), [job] { return job; }).get();
        require(got == job, "called in this job");
      }
    });
    for (std::uint16_t i = 0; i < fabric.processes(); ++i) {
      if (fabric.failed({i})) return 2;
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("simulated_nodes_connect_when_they_first_talk") {
  constexpr unsigned kNodes = 24;
  std::vector<std::set<unsigned>> before(kNodes);
  std::vector<std::set<unsigned>> after(kNodes);
  const SimulationReport report = simulation::run(kNodes, with_seed(3), [&](Fabric& fabric) {
    const unsigned me = fabric.process().value;
    before[me] = connections(fabric);
    fabric.run([&](Thread& self) {
      dsfabric::SendChannel calls(self.fabric());
      CHECK(calls.call_return(self.neighbour(5), [] { return 42; }).get() == 42);
      after[me] = connections(self.fabric());
    });
  });
  CHECK(report.error == "");
  for (unsigned me = 0; me < kNodes; ++me) {
    CHECK(before[me].empty());
    CHECK(after[me].contains((me + 5) % kNodes));
    // Partners of collectives, of which run() has one at each end, and who called.
    CHECK(after[me].size() <= 13);
  }
}

TEST_CASE("crash_of_a_simulated_node_is_told_to_those_that_never_talked_to_it") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    simulation::Options options = with_seed(seed);
    options.plan = [](dtutils::Simulation& cluster) {
      cluster.at(1ms, [&cluster] { cluster.crash(2); });
    };
    std::set<unsigned> heard;
    const SimulationReport report = simulation::run(5, options, [&](Fabric& fabric) {
      dtutils::Deadline deadline(3s);
      dtutils::Backoff backoff;
      while (!fabric.failed({2}) && !deadline.passed()) backoff.pause();
      if (fabric.process() != ProcessId{2} && connections(fabric).empty() && fabric.failed({2})) {
        heard.insert(fabric.process().value);
      }
    });
    CHECK(report.error == "");
    CHECK(heard == std::set<unsigned>{0, 1, 3, 4});
  }
}

TEST_CASE("simulated_node_that_is_woken_after_its_crash_has_lost_those_it_never_talked_to") {
  simulation::Options options = with_seed(1);
  options.plan = [](dtutils::Simulation& cluster) {
    cluster.at(1ms, [&cluster] { cluster.crash(2); });
  };
  std::set<unsigned> lost;
  const SimulationReport report = simulation::run(3, options, [&](Fabric& fabric) {
    const bool crashes = fabric.process() == ProcessId{2};
    for (const std::uint16_t other : {0, 1, 2}) {
      dtutils::Deadline deadline(crashes ? 100s : 3s);
      if (crashes == (other == 2)) continue;
      while (!fabric.failed({other}) && !deadline.passed()) dtutils::sleep_for(100us);
      if (crashes && fabric.failed({other})) lost.insert(other);
    }
  });
  CHECK(report.error == "");
  CHECK(lost == std::set<unsigned>{0, 1});
}

TEST_CASE("simulated_nodes_do_not_wait_for_one_that_crashed_before_it_joined") {
  simulation::Options options = with_seed(1);
  options.plan = [](dtutils::Simulation& cluster) { cluster.crash(1); };
  const SimulationReport report = simulation::run(3, options, [](Fabric&) {});
  CHECK_THAT(report.error, support::contains("node 1 has ended"));
  CHECK(report.time < 3s);
}

TEST_CASE("simulated_node_that_ends_without_joining_is_not_waited_for_longer_than_it_should") {
  simulation::Options options;
  const auto program = [](int argc, char** argv) {
    if (dtutils::Simulation::current()->node() == 1) return 3;
    dsfabric::Config config;
    config.start_timeout = 500ms;
    const Fabric fabric = dsfabric::join(argc, argv, config);
    return 0;
  };
  const simulation::MainReport report = simulation::run_main(3, options, program, {"program"});
  CHECK_THAT(report.run.error, support::contains("node 1 has not come in time"));
  CHECK(report.statuses == std::vector<int>{-1, 3, -1});
}

TEST_CASE("simulated_nodes_join_one_job_after_the_other") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto report =
        simulation::run_main(4, with_seed(seed), program_of_three_jobs, {"program"});
    CHECK(report.run.error == "");
    CHECK(report.statuses == std::vector<int>{0, 0, 0, 0});
  }
}
