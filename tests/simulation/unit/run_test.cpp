// SPDX-License-Identifier: MIT
// Whole jobs in a simulation: one seed is one run, whatever the program does.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
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
using support::contains;
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

TEST_CASE("nodes_that_throw_are_reported_and_the_others_come_to_an_end") {
  const auto throwing = [](bool in_worker) {
    return simulation::run(3, with_seed(2), [&](Fabric& fabric) {
      const auto fail = [&](bool here) {
        if (here && fabric.process().value == 1) throw std::string("no exception");
      };
      fail(!in_worker);
      fabric.run([&](Thread& self) {
        fail(in_worker);
        self.barrier();
      });
    });
  };
  CHECK_THAT(throwing(false).error, contains("node 1: it has thrown what is no std::exception"));
  // Others may hear of it before the workers of that node have ended.
  CHECK_THAT(throwing(true).error, contains("node "));
}

TEST_CASE("mutex_of_the_machine_that_is_held_over_a_wait_is_told_with_thread_and_node") {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    signal(SIGABRT, SIG_DFL);
    std::mutex mutex;
    dtutils::SimulationOptions options;
    options.patience = 1s;
    dtutils::Simulation simulation(options);
    for (const std::uint32_t node : {0u, 4u}) {
      simulation.start(node, [&] {
        const std::scoped_lock lock(mutex);
        dtutils::sleep_for(1ms);
      });
    }
    (void)simulation.run();
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char part[256];
  for (ssize_t size = 0; (size = read(ends[0], part, sizeof part)) > 0;) {
    said.append(part, static_cast<std::size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
  CHECK_THAT(said, contains("thread 1 of node 4 runs for 1 s without waiting, or waits for the "
                            "machine (a std::mutex"));
}

TEST_CASE("simulated_jobs_of_none_and_one_node_end") {
  const auto barrier = [](Fabric& fabric) { fabric.run([](Thread& self) { self.barrier(); }); };
  CHECK(simulation::run(0, with_seed(1), barrier).error == "");
  CHECK(simulation::run(1, with_seed(1), barrier).error == "");
}

TEST_CASE("simulations_of_two_threads_run_at_once_as_they_do_alone") {
  const auto job = [](std::uint64_t seed) {
    return simulation::run(4, with_seed(seed), [](Fabric& fabric) {
      fabric.run([](Thread& self) {
        for (int i = 0; i < 20; ++i) self.barrier();
      });
    });
  };
  std::array<SimulationReport, 2> alone{job(1), job(2)};
  std::array<SimulationReport, 2> together;
  {
    std::thread other([&] { together[1] = job(2); });
    together[0] = job(1);
    other.join();
  }
  for (int i = 0; i < 2; ++i) {
    CHECK(together[i].error == "");
    CHECK(together[i].digest == alone[i].digest);
  }
}

TEST_CASE("exit_in_a_simulated_node_never_ends_the_process_well") {
  const pid_t child = fork();
  if (child == 0) {
    (void)simulation::run(2, with_seed(1), [](Fabric&) { std::exit(0); });
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == EXIT_FAILURE);
}
