// SPDX-License-Identifier: MIT
// Simulations: one seed is one run, time is virtual, faults strike where they are told to.
#include "dtutils/simulation.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "dtutils/dtutils.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "support/queue_pair_states.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using support::contains;

namespace {

/// Sides of nodes that know each other's endpoints: what a bootstrap does.
struct Board {
  std::vector<std::optional<Endpoint>> endpoints = std::vector<std::optional<Endpoint>>(8);
  std::vector<RemoteMemoryLocator> memory = std::vector<RemoteMemoryLocator>(8);
  unsigned ready = 0;
  unsigned done = 0;
};

/// An end of a connection between nodes 0 and 1.
class End {
 public:
  explicit End(Board& board, const support::SideOptions& options = {})
      : number_(Simulation::current()->node()),
        board_(board),
        device(open_device()),
        side(*device, options) {
    board.endpoints[number_] = side.qp.endpoint();
    board.memory[number_] = side.region.remote();
    Backoff backoff;
    while (!board.endpoints[1 - number_]) backoff.pause();
    side.qp.connect(*board.endpoints[1 - number_]);
    ++board.ready;
    while (board.ready < 2) backoff.pause();
  }
  RemoteMemoryLocator there(std::size_t offset, std::size_t length) const {
    return board_.memory[1 - number_].part(offset, length);
  }

 private:
  const unsigned number_;
  Board& board_;

 public:
  std::unique_ptr<Device> device;
  support::Side side;
};

/// An end that does nothing, as long as the other one needs it.
void stay(Board& board) {
  const End end(board);
  sleep_for(1s);
}

/// The completion of a request that is the only one.
ibv_wc_status completion(support::Side& side) {
  ibv_wc work{};
  Backoff backoff;
  while (side.sends.poll({&work, 1}) == 0) backoff.pause();
  return work.status;
}

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
