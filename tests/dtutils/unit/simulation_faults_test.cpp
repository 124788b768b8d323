// SPDX-License-Identifier: MIT
// Faults of a simulation strike where they are told to.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "dtutils/dtutils.hpp"
#include "dtutils/simulation.hpp"
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
using support::stay;

TEST_CASE("requests_to_a_simulated_node_that_crashed_fail") {
  Simulation simulation;
  Board board;
  ibv_wc_status status = IBV_WC_SUCCESS;
  bool went_on = false;
  nanoseconds failed{};
  simulation.start(0, [&] {
    End end(board);
    sleep_for(1ms);
    support::must(end.side.qp.post_write(end.side.local(0, 8), end.there(0, 8), 1, kSignaled));
    status = completion(end.side);
    failed = simulation.time();
  });
  simulation.start(1, [&] {
    End end(board);
    simulation.at(500us, [&] { simulation.crash(1); });
    sleep_for(1s);
    went_on = simulation.crashed(1);
  });
  const SimulationReport report = simulation.run();
  CHECK(report.error == "");
  CHECK(status == IBV_WC_RETRY_EXC_ERR);
  // As many tries as the pair has, of the time-out each.
  const nanoseconds tries = (kRetryCount + 1) * 4096ns * (1 << kAckTimeout);
  CHECK(failed >= tries);
  CHECK(failed < tries + 5ms);
  // It is woken at the end, and knows.
  CHECK(went_on);
}

TEST_CASE("crash_of_a_simulated_node_is_told_once_and_may_plan_more") {
  Simulation simulation;
  std::string log;
  const auto note = [&](char what) {
    log += what;
    log += std::to_string(simulation.time() / 1ms);
    log += ' ';
  };
  simulation.on_crash([&](Simulation::Node node) {
    note(static_cast<char>('0' + node));
    // More of them than there is room for at first, while one of them runs.
    for (int i = 1; i <= 40; ++i) simulation.at(simulation.time() + i * 1ms, [&] { note('+'); });
  });
  simulation.start(0, [] { sleep_for(100ms); });
  simulation.start(1, [] { sleep_for(1ms); });
  simulation.at(2ms, [&] { simulation.crash(1); });
  simulation.at(3ms, [&] { simulation.crash(1); });
  CHECK(simulation.run().error == "");
  std::string expected = "12 ";
  for (int i = 3; i <= 42; ++i) expected += "+" + std::to_string(i) + " ";
  CHECK(log == expected);
}

TEST_CASE("stopped_simulated_node_is_still_written_to") {
  Simulation simulation;
  Board board;
  nanoseconds completed{}, seen{};
  simulation.start(0, [&] {
    End end(board);
    simulation.stop(1, 2ms);
    end.side.at<int>(0) = 1;
    support::must(end.side.qp.post_write(end.side.local(0, 8), end.there(0, 8), 1, kSignaled));
    CHECK(completion(end.side) == IBV_WC_SUCCESS);
    completed = simulation.time();
  });
  simulation.start(1, [&] {
    End end(board);
    Backoff backoff;
    while (load_device_word(&end.side.at<int>(0)) == 0) backoff.pause();
    seen = simulation.time();
  });
  CHECK(simulation.run().error == "");
  CHECK(completed < 1ms);
  CHECK(seen >= 2ms);
}

TEST_CASE("stop_of_a_simulated_node_may_end_before_its_time") {
  Simulation simulation;
  nanoseconds woke{}, slept{};
  simulation.start(0, [&] {
    sleep_for(1ms);
    simulation.stop(1, 1h);
    sleep_for(4ms);
    simulation.stop(1, 0ms);
  });
  simulation.start(1, [&] {
    sleep_for(2ms);
    woke = simulation.time();
    sleep_for(4ms);
    slept = simulation.time();
  });
  CHECK(simulation.run().error == "");
  CHECK(woke >= 5ms);
  CHECK(woke < 6ms);
  CHECK(slept - woke >= 4ms);
}

TEST_CASE("interrupted_simulated_threads_stop_between_a_post_and_what_follows") {
  for (const std::uint32_t one_in : {0u, 1u}) {
    SimulationOptions options;
    options.disorder.interrupted = one_in;
    Simulation simulation(options);
    Board board;
    bool posts = false;
    std::atomic<bool> ended = false;
    int seen_between = 0;
    nanoseconds longest{};
    simulation.start(0, [&] {
      End end(board);
      for (int i = 0; i < 100; ++i) {
        const nanoseconds began = simulation.time();
        posts = true;
        support::must(end.side.qp.post_write(end.side.local(0, 8), end.there(0, 8), 1, kSignaled));
        posts = false;
        longest = std::max(longest, simulation.time() - began);
        CHECK(completion(end.side) == IBV_WC_SUCCESS);
      }
      ended = true;
    });
    simulation.start(0, [&] {
      for (; !ended.load(); sleep_for(100ns)) seen_between += posts;
    });
    simulation.start(1, [&] { stay(board); });
    CHECK(simulation.run().error == "");
    CHECK((seen_between != 0) == (one_in == 1));
    CHECK((longest > 1us) == (one_in == 1));
    // Before a post and after it.
    CHECK(longest < 40us);
  }
}

TEST_CASE("cut_link_of_a_simulation_loses_and_resends") {
  Simulation simulation;
  Board board;
  nanoseconds completed{};
  simulation.start(0, [&] {
    End end(board);
    simulation.cut(0, 1, 1ms);
    support::must(end.side.qp.post_write(end.side.local(0, 8), end.there(0, 8), 1, kSignaled));
    CHECK(completion(end.side) == IBV_WC_SUCCESS);
    completed = simulation.time();
  });
  simulation.start(1, [&] { stay(board); });
  CHECK(simulation.run().error == "");
  // After one time-out of the transport.
  CHECK(completed >= 4096ns * (1 << kAckTimeout));
}

TEST_CASE("simulated_queue_pair_breaks_when_told_to") {
  Simulation simulation;
  Board board;
  ibv_wc_status status = IBV_WC_SUCCESS;
  simulation.start(0, [&] {
    End end(board);
    CHECK(simulation.break_a_queue_pair());
    CHECK(simulation.break_a_queue_pair() == false);
    const PostResult posted =
        end.side.qp.post_write(end.side.local(0, 8), end.there(0, 8), 1, kSignaled);
    CHECK(posted == PostResult::kOk);
    status = completion(end.side);
  });
  simulation.start(1, [&] { stay(board); });
  CHECK(simulation.run().error == "");
  CHECK(status == IBV_WC_RETRY_EXC_ERR);
}

TEST_CASE("simulated_node_runs_out_of_memory_to_register") {
  Simulation simulation;
  std::string error;
  simulation.start(0, [&] {
    simulation.limit_memory(0, 1000);
    const auto device = open_device("sim");
    ProtectionDomain pd(*device);
    std::vector<std::byte> bytes(600);
    { const MemoryRegion region(pd, bytes.data(), bytes.size(), kAccessAll); }
    const MemoryRegion again(pd, bytes.data(), bytes.size(), kAccessAll);
    const MemoryRegion more(pd, bytes.data(), bytes.size(), kAccessAll);
  });
  CHECK_THAT(simulation.run().error, contains("node 0") && contains("no memory left"));
}
