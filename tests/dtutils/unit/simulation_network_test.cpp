// SPDX-License-Identifier: MIT
// A simulated network takes the time that its model says.
#include "dtutils/dtutils.hpp"
#include "dtutils/simulation.hpp"
#include "simulated_ends.hpp"
#include "support/catch.hpp"

using namespace dtutils;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using support::Board;
using support::completion;
using support::End;
using support::stay;

TEST_CASE("simulated_write_takes_what_the_model_says") {
  const SimulationOptions options;
  const NetworkModel& model = options.model;
  nanoseconds began{}, arrived{};
  Simulation simulation(options);
  Board board;
  constexpr std::uint32_t kBytes = 8;
  simulation.start(0, [&] {
    End end(board);
    sleep_for(100us);
    end.side.at<std::uint64_t>(0) = 1;
    began = simulation.time();
    support::must(end.side.qp.post_write(end.side.local(0, kBytes), end.there(0, kBytes), 1,
                                         kInlined | kSignaled));
    CHECK(completion(end.side) == IBV_WC_SUCCESS);
  });
  simulation.start(1, [&] {
    End end(board);
    Backoff backoff;
    while (load_device_word(&end.side.at<std::uint64_t>(0)) == 0) backoff.pause();
    arrived = simulation.time();
  });
  CHECK(simulation.run().error == "");
  const nanoseconds wire((kBytes + model.header) * 1000 / model.bytes_per_us);
  const nanoseconds expected = model.post + model.doorbell + model.issue + model.adapter +
                               model.hop + wire + model.adapter + model.land;
  // The poller looks every model.poll.
  CHECK(arrived - began >= expected);
  CHECK(arrived - began <= expected + 2 * model.poll);
  CHECK(expected > 500ns);
}

TEST_CASE("simulated_stream_of_writes_has_the_bandwidth_of_the_link") {
  const SimulationOptions options;
  Simulation simulation(options);
  Board board;
  constexpr std::uint32_t kBytes = 32 << 10;
  constexpr int kWrites = 200;
  nanoseconds took{};
  simulation.start(0, [&] {
    End end(board);
    sleep_for(10us);
    const nanoseconds began = simulation.time();
    for (int i = 0; i < kWrites; ++i) {
      support::must(end.side.qp.post_write(end.side.local(0, kBytes), end.there(0, kBytes), 1,
                                           i + 1 == kWrites ? kSignaled : kUnsignaled));
    }
    CHECK(completion(end.side) == IBV_WC_SUCCESS);
    took = simulation.time() - began;
  });
  simulation.start(1, [&] { stay(board); });
  CHECK(simulation.run().error == "");
  const NetworkModel& model = options.model;
  const double packets = 1.0 * kBytes / model.mtu;
  const double expected = kWrites * (kBytes + packets * model.header) * 1000 / model.bytes_per_us;
  CHECK(static_cast<double>(took.count()) / expected > 0.98);
  CHECK(static_cast<double>(took.count()) / expected < 1.02);
}
