// SPDX-License-Identifier: MIT
// The simulated network against the closed form of its model: within 2 %.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dtutils/dtutils.hpp"
#include "dtutils/simulation.hpp"
#include "support/catch.hpp"
#include "support/queue_pair_states.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kBytes = 32 << 10;
/// To take a completion out of its queue.
constexpr double kTake = 15;

/// What two nodes measure: `measure` runs at node 0, whose peer only stays.
double measured(
    const SimulationOptions& options, Simulation::Node peer,
    const std::function<double(Simulation&, support::Side&, const RemoteMemoryLocator&)>& measure,
    unsigned receives = 0) {
  Simulation simulation(options);
  std::optional<Endpoint> ends[2];
  RemoteMemoryLocator there;
  bool connected[2] = {};
  double result = 0;
  for (const unsigned end : {0u, 1u}) {
    simulation.start(end == 0 ? 0 : peer, [&, end] {
      const auto device = open_device();
      support::Side side(*device, {});
      ends[end] = side.qp.endpoint();
      if (end == 1) there = side.region.remote();
      Backoff backoff;
      while (!ends[1 - end]) backoff.pause();
      side.qp.connect(*ends[1 - end]);
      for (unsigned i = 0; end == 1 && i < receives; ++i) {
        support::must(side.qp.post_receive(side.local(0, 64), i));
      }
      connected[end] = true;
      while (!connected[1 - end]) backoff.pause();
      sleep_for(10us);
      if (end == 0) {
        result = measure(simulation, side, there);
      } else {
        sleep_for(1s);
      }
    });
  }
  CHECK(simulation.run().error == "");
  return result;
}

ibv_wc_status next_status(support::Side& side) {
  ibv_wc work{};
  while (side.sends.poll({&work, 1}) == 0) {
  }
  return work.status;
}

/// From the post of one request to its completion; `post` posts it, signaled.
template <class Post>
double round_trip(const SimulationOptions& options, Post post, unsigned receives = 0,
                  Simulation::Node peer = 1) {
  return measured(
      options, peer,
      [&](Simulation& simulation, support::Side& side, const RemoteMemoryLocator& there) {
        const auto begin = simulation.time();
        support::must(post(side.qp, side, there));
        CHECK(next_status(side) == IBV_WC_SUCCESS);
        return static_cast<double>((simulation.time() - begin).count());
      },
      receives);
}

double wire(const NetworkModel& model, double bytes) {
  const double packets = std::max(1.0, std::ceil(bytes / model.mtu));
  return (bytes + packets * model.header) * 1000 / model.bytes_per_us;
}

double ns(std::chrono::nanoseconds time) { return static_cast<double>(time.count()); }

/// To the peer, and its acknowledgement back, which takes no time on the wire.
double both_ways(const NetworkModel& model, double hops, double bytes, double fetch) {
  const double there = ns(model.post) + ns(model.doorbell) + ns(model.issue) + fetch +
                       wire(model, bytes) + 2 * ns(model.adapter) + hops * ns(model.hop) +
                       ns(model.land);
  return there + hops * ns(model.hop) + 2 * ns(model.adapter) + ns(model.land) + kTake;
}

/// Polls in vain are the resolution of the clock: here they take next to nothing.
SimulationOptions exact() {
  SimulationOptions options;
  options.model.poll = 1ns;
  return options;
}

void check_close(double is, double expected) {
  INFO(fmt::format("is {} ns, by the closed form {} ns", is, expected));
  CHECK(is > 0.98 * expected);
  CHECK(is < 1.02 * expected);
}

}  // namespace

TEST_CASE("simulated_latency_of_each_operation_is_that_of_the_model") {
  const SimulationOptions options = exact();
  const NetworkModel& model = options.model;
  using Qp = dtutils::QueuePair;
  using There = RemoteMemoryLocator;
  const auto write = [](std::uint32_t bytes, auto how) {
    return [=](Qp& qp, support::Side& side, const There& there) {
      return qp.post_write(side.local(0, bytes), there.part(0, bytes), 1, how);
    };
  };
  SECTION("write, inline") {
    check_close(round_trip(options, write(8, kInlined | kSignaled)), both_ways(model, 1, 8, 0));
  }
  SECTION("write, fetched by the adapter") {
    check_close(round_trip(options, write(kBytes, kSignaled)),
                both_ways(model, 1, kBytes, ns(model.fetch)));
  }
  SECTION("send") {
    const auto send = [](Qp& qp, support::Side& side, const There&) {
      return qp.post_send(side.local(0, 32), 1, kInlined | kSignaled);
    };
    check_close(round_trip(options, send, 1), both_ways(model, 1, 32, 0));
  }
  SECTION("read") {
    const auto read = [](Qp& qp, support::Side& side, const There& there) {
      return qp.post_read(side.local(0, kBytes), there.part(0, kBytes), 1, kSignaled);
    };
    check_close(round_trip(options, read),
                both_ways(model, 1, 0, 0) + ns(model.fetch) + wire(model, kBytes));
  }
  SECTION("atomic") {
    const auto add = [](Qp& qp, support::Side& side, const There& there) {
      return qp.post_fetch_and_add(side.local(0, 8), there.part(0, 8), 1, 1, kSignaled);
    };
    check_close(round_trip(options, add), both_ways(model, 1, 0, 0) + ns(model.atomic));
  }
  SECTION("three switches of a fat tree") {
    const Simulation::Node far = model.ports;
    check_close(round_trip(options, write(8, kInlined | kSignaled), 0, far - 1),
                both_ways(model, 1, 8, 0));
    check_close(round_trip(options, write(8, kInlined | kSignaled), 0, far),
                both_ways(model, 3, 8, 0));
  }
}

namespace {

/// Time of each of many writes, from the first post to the last completion.
double time_of_each(const SimulationOptions& options, std::uint32_t bytes, auto how) {
  constexpr int kWrites = 2'000;
  constexpr int kWindow = 16;
  return measured(
      options, 1,
      [&](Simulation& simulation, support::Side& side, const RemoteMemoryLocator& there) {
        const auto begin = simulation.time();
        // A few batches on their way; the last of each is signaled.
        for (int i = 1; i <= kWrites; ++i) {
          const bool last = i % kWindow == 0;
          support::must(side.qp.post_write(side.local(0, bytes), there.part(0, bytes), 1,
                                           last ? how | kSignaled : how));
          if (last && i > 3 * kWindow) CHECK(next_status(side) == IBV_WC_SUCCESS);
        }
        for (int i = 0; i < 3; ++i) CHECK(next_status(side) == IBV_WC_SUCCESS);
        return static_cast<double>((simulation.time() - begin).count()) / kWrites;
      });
}

}  // namespace

TEST_CASE("simulated_rate_and_bandwidth_are_those_of_the_model") {
  SimulationOptions options = exact();
  NetworkModel& model = options.model;
  // One thread is as fast as it posts, and takes completions.
  check_close(time_of_each(options, 8, kInlined | kUnsignaled), ns(model.post) + kTake / 16);
  // The adapter, where posting takes nothing to speak of.
  model.post = 1ns;
  model.issue = 40ns;
  check_close(time_of_each(options, 8, kInlined | kUnsignaled), ns(model.issue));
  // The link, of small packets with their headers and of large messages.
  model.issue = 1ns;
  model.bytes_per_us = 500;
  check_close(time_of_each(options, 8, kInlined | kUnsignaled), wire(model, 8));
  model.bytes_per_us = 12'120;
  check_close(time_of_each(options, kBytes, kUnsignaled), wire(model, kBytes));
  // The gap between messages, which is no part of the latency of one.
  model.gap = 2us;
  check_close(time_of_each(options, 8, kInlined | kUnsignaled), wire(model, 8) + ns(model.gap));
  const auto write = [](dtutils::QueuePair& qp, support::Side& side,
                        const RemoteMemoryLocator& there) {
    return qp.post_write(side.local(0, 8), there.part(0, 8), 1, kInlined | kSignaled);
  };
  check_close(round_trip(options, write), both_ways(model, 1, 8, 0));
}
