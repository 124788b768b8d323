// SPDX-License-Identifier: MIT
// Simulations: one seed is one run, and time is virtual.
#include "dtutils/simulation.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <string>

#include "dtutils/dtutils.hpp"
#include "simulated_ends.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

using namespace dtutils;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using support::Board;
using support::completion;
using support::contains;
using support::End;

namespace {

/// Two nodes write to each other, `rounds` times; both orders of arrival end up in `log`.
SimulationReport exchange(const SimulationOptions& options, int rounds,
                          std::string* log = nullptr) {
  Simulation simulation(options);
  Board board;
  for (const unsigned node : {0u, 1u}) {
    simulation.start(node, [&, node] {
      End end(board);
      Backoff backoff;
      for (int i = 1; i <= rounds; ++i) {
        end.side.at<int>(64) = i;
        support::must(
            end.side.qp.post_write(end.side.local(64, 200), end.there(4096, 200), 7, kSignaled));
        CHECK(completion(end.side) == IBV_WC_SUCCESS);
        while (load_device_word(&end.side.at<int>(4096)) < i) backoff.pause();
        if (log != nullptr) *log += static_cast<char>('a' + node);
      }
      // The other part of a torn write may still be on its way here.
      ++board.done;
      while (board.done < 2) backoff.pause();
    });
  }
  return simulation.run();
}

SimulationOptions wild(std::uint64_t seed) {
  return {.seed = seed, .disorder = {2us, 2, 4, 50, true}};
}

}  // namespace

TEST_CASE("simulation_of_one_seed_is_one_run") {
  std::string first_log, second_log, other_log;
  const SimulationReport first = exchange(wild(3), 50, &first_log);
  const SimulationReport second = exchange(wild(3), 50, &second_log);
  const SimulationReport other = exchange(wild(4), 50, &other_log);
  CHECK(first.error == "");
  CHECK(first.digest == second.digest);
  CHECK(first.events == second.events);
  CHECK(first.time == second.time);
  CHECK(first_log == second_log);
  CHECK(first.digest != other.digest);
  CHECK(first_log != other_log);
}

TEST_CASE("simulated_hours_pass_at_once") {
  Simulation simulation({.time_limit = 100h});
  nanoseconds woke{};
  const auto before = std::chrono::steady_clock::now();
  simulation.start(0, [&] {
    sleep_for(50h);
    woke = simulation.time();
  });
  const SimulationReport report = simulation.run();
  CHECK(report.error == "");
  CHECK(woke >= 50h);
  CHECK(woke < 50h + 1ms);
  CHECK(std::chrono::steady_clock::now() - before < 10s);
}

TEST_CASE("simulated_threads_take_turns_in_virtual_time") {
  Simulation simulation;
  std::string order;
  for (const int each : {3, 1, 2}) {
    simulation.start(0, [&, each] {
      simulation.compute(each * 10us);
      order += static_cast<char>('0' + each);
    });
  }
  CHECK(simulation.run().error == "");
  CHECK(order == "123");
}

TEST_CASE("simulated_thread_that_gets_on_waits_shortly_when_it_finds_nothing") {
  Simulation simulation;
  nanoseconds after_work{}, after_sleep{};
  simulation.start(0, [&] {
    const auto wait_of_one_poll = [&] {
      const nanoseconds begin = simulation.time();
      found_nothing();
      return simulation.time() - begin;
    };
    while (simulation.time() < 1ms) found_nothing();
    CHECK(wait_of_one_poll() > 10us);
    found_something();
    after_work = wait_of_one_poll();
    sleep_for(1s);
    after_sleep = wait_of_one_poll();
  });
  CHECK(simulation.run().error == "");
  CHECK(after_work < 1us);
  CHECK(after_sleep < 1us);
}

TEST_CASE("time_of_a_simulated_thread_that_is_woken_never_goes_back") {
  Simulation simulation;
  Board board;
  unsigned went_back = 0;
  simulation.start(0, [&] {
    simulation.slow_down(0, 20);
    End end(board);
    // Its polls take longer than the writes that come meanwhile, of which each wakes it.
    nanoseconds before = simulation.time();
    while (load_device_word(&end.side.at<int>(0)) != 99) {
      found_nothing();
      went_back += simulation.time() < before;
      before = simulation.time();
    }
  });
  simulation.start(1, [&] {
    End end(board);
    for (int i = 0; i < 100; ++i) {
      end.side.at<int>(0) = i;
      support::must(end.side.qp.post_write(end.side.local(0, 8), end.there(0, 8), 1, kSignaled));
      CHECK(completion(end.side) == IBV_WC_SUCCESS);
    }
  });
  CHECK(simulation.run().error == "");
  CHECK(went_back == 0);
}

TEST_CASE("simulated_node_hears_of_a_descriptor_that_another_one_writes_to") {
  Simulation simulation;
  const int fd = eventfd(0, EFD_CLOEXEC);
  int ready = 0;
  nanoseconds heard{};
  simulation.start(0, [&] {
    pollfd watched{fd, POLLIN, 0};
    ready = wait_for_events({&watched, 1}, 1min);
    heard = simulation.time();
  });
  simulation.start(1, [&] {
    sleep_for(3ms);
    CHECK(eventfd_write(fd, 1) == 0);
    simulation.signaled(0);
  });
  CHECK(simulation.run().error == "");
  CHECK(ready == 1);
  CHECK(heard >= 3ms);
  CHECK(heard < 4ms);
  close(fd);
}

TEST_CASE("simulated_threads_that_wait_for_ever_are_named") {
  Simulation simulation({.time_limit = 1s});
  simulation.start(2, [&] {
    Synchronizer never(1);
    (void)never.wait();
  });
  CHECK_THAT(simulation.run().error, contains("0 of node 2"));
}

TEST_CASE("device_sim_needs_a_simulated_thread") {
  try {
    open_device("sim");
    FAIL("opened");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), contains("not simulated"));
  }
}

TEST_CASE("mutex_held_while_its_owner_sleeps_blocks_no_simulation") {
  Simulation simulation;
  Mutex mutex;
  std::string order;
  simulation.start(0, [&] {
    const std::scoped_lock lock(mutex);
    sleep_for(1ms);
    order += "a";
  });
  simulation.start(0, [&] {
    sleep_for(10us);
    const std::scoped_lock lock(mutex);
    order += "b";
  });
  CHECK(simulation.run().error == "");
  CHECK(order == "ab");
}

TEST_CASE("thread_started_in_a_simulation_belongs_to_the_node_of_its_starter") {
  Simulation simulation;
  unsigned node = 0;
  simulation.start(3, [&] {
    JoinableThread thread([&] {
      sleep_for(1ms);
      node = Simulation::current()->node();
    });
    thread.join();
  });
  CHECK(simulation.run().error == "");
  CHECK(node == 3);
}
