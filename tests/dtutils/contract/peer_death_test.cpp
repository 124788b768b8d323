// SPDX-License-Identifier: MIT
// A peer that is killed: requests to it fail in time, nothing hangs, everything else goes on.
#include <thread>

#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/two_processes.hpp"

using namespace dtutils;
using namespace support;

namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

/// Grants memory and receives, then waits to be killed.
void serve_until_killed(Wire& wire) {
  const auto device = open_device_under_test();
  Side side(*device);
  connect(wire, side);
  for (std::uint64_t i = 0; i < 200; ++i) must(side.qp.post_receive(side.local(0, 64), i));
  wire.meet();
  wire.meet();
}

/// Takes `outstanding` completions: successes, then one RETRY_EXC_ERR, then flushed requests; the
/// queue pair must be broken afterwards.
void expect_failures(Side& side, std::uint64_t outstanding, bool failed = false) {
  for (; outstanding > 0; --outstanding) {
    const ibv_wc completion = next_completion(side.sends);
    if (completion.status == IBV_WC_SUCCESS) {
      CHECK(!failed);
      continue;
    }
    INFO(describe(completion));
    CHECK(completion.status == (failed ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR));
    failed = true;
  }
  CHECK(failed);
  CHECK(eventually([&] { return side.qp.state() == IBV_QPS_ERR; }));
}

/// Posts without a pause, up to 64 requests at once, and kills the peer meanwhile. A request must
/// fail, or a post be refused, in time. Until then requests may succeed: the memory of a peer on
/// the same host outlives it.
template <class Request>
void kill_in_a_stream(Side& side, RemotePeer& peer, Request request) {
  const auto begin = SteadyClock::now();
  SteadyClock::time_point death{};
  std::uint64_t outstanding = 0;
  bool broken = false;
  bool failed = false;
  while (!broken) {
    const auto now = SteadyClock::now();
    REQUIRE(now - begin < kPatience);
    if (death == SteadyClock::time_point{} && now - begin > milliseconds(50)) {
      death = now;
      peer.kill();
    }
    if (outstanding < 64) {
      const PostResult answer = request();
      broken = answer == PostResult::kBroken;
      if (!broken) {
        must(answer);
        ++outstanding;
      }
    }
    ibv_wc completion{};
    if (side.sends.poll({&completion, 1}) == 1) {
      --outstanding;
      if (completion.status != IBV_WC_SUCCESS) {
        INFO(describe(completion));
        CHECK(completion.status == IBV_WC_RETRY_EXC_ERR);
        broken = failed = true;
      }
    }
  }
  REQUIRE(death != SteadyClock::time_point{});
  CHECK(SteadyClock::now() - death < failure_limit(side.qp.device()));
  expect_failures(side, outstanding, failed || outstanding == 0);
}

}  // namespace

TEST_CASE("stream_of_writes_to_a_killed_peer_fails_in_time") {
  RemotePeer peer(serve_until_killed);
  const auto device = open_device_under_test();
  Side side(*device);
  const RemoteMemoryLocator memory = connect(peer.wire(), side);
  peer.wire().meet();
  kill_in_a_stream(side, peer, [&] {
    return side.qp.post_write(side.local(0, 4096), memory.part(0, 4096), 1, kSignaled);
  });
}

TEST_CASE("stream_of_reads_and_atomics_from_a_killed_peer_fails_in_time") {
  RemotePeer peer(serve_until_killed);
  const auto device = open_device_under_test();
  Side side(*device);
  const RemoteMemoryLocator memory = connect(peer.wire(), side);
  peer.wire().meet();
  kill_in_a_stream(side, peer, [&, turn = 0]() mutable {
    if (++turn % 2 == 0 && device->info().atomics) {
      return side.qp.post_fetch_and_add(side.local(0, 8), memory.part(0, 8), 1, 1, kSignaled);
    }
    return side.qp.post_read(side.local(64, 4096), memory.part(64, 4096), 1, kSignaled);
  });
}

TEST_CASE("send_that_waits_for_a_receive_of_a_killed_peer_fails_in_time") {
  RemotePeer peer(serve_until_killed);
  const auto device = open_device_under_test();
  Side side(*device);
  connect(peer.wire(), side);
  peer.wire().meet();
  for (std::uint64_t i = 0; i < 210; ++i) {
    must(side.qp.post_send(side.local(0, 8), i, kSignaled));
  }
  for (std::uint64_t i = 0; i < 200; ++i) success(side.sends, i);
  CHECK(stays_empty(side.sends));
  const auto death = SteadyClock::now();
  peer.kill();
  CHECK(failure(side.sends, 200).status == IBV_WC_RETRY_EXC_ERR);
  CHECK(SteadyClock::now() - death < failure_limit(*device));
  expect_failures(side, 9, true);
}

TEST_CASE("first_request_after_the_death_of_an_idle_peer_fails_in_time") {
  RemotePeer peer(serve_until_killed);
  const auto device = open_device_under_test();
  Side side(*device);
  const RemoteMemoryLocator memory = connect(peer.wire(), side);
  peer.wire().meet();
  must(side.qp.post_write(side.local(0, 8), memory.part(0, 8), 1, kSignaled));
  success(side.sends, 1);
  peer.kill();
  std::this_thread::sleep_for(milliseconds(100));
  const auto begin = SteadyClock::now();
  const PostResult answer = side.qp.post_write(side.local(0, 8), memory.part(0, 8), 2, kSignaled);
  if (answer == PostResult::kOk) {
    const ibv_wc failed = failure(side.sends, 2);
    CHECK((failed.status == IBV_WC_RETRY_EXC_ERR || failed.status == IBV_WC_WR_FLUSH_ERR));
    CHECK(SteadyClock::now() - begin < failure_limit(*device));
  } else {
    // The device has noticed the death by itself.
    CHECK(answer == PostResult::kBroken);
  }
  CHECK(eventually([&] { return side.qp.state() == IBV_QPS_ERR; }));
}

TEST_CASE("sleeping_sender_is_woken_by_the_death_of_its_peer") {
  RemotePeer peer(serve_until_killed);
  const auto device = open_device_under_test();
  Side side(*device);
  connect(peer.wire(), side);
  peer.wire().meet();
  for (std::uint64_t i = 0; i < 201; ++i) {
    must(side.qp.post_send(side.local(0, 8), i, kSignaled));
  }
  for (std::uint64_t i = 0; i < 200; ++i) success(side.sends, i);
  REQUIRE(side.sends.arm());
  peer.kill();
  CHECK(side.send_channel.wait(failure_limit(*device)) == side.sends.raw());
  CHECK(failure(side.sends, 200).status == IBV_WC_RETRY_EXC_ERR);
}

TEST_CASE("receives_from_a_killed_peer_are_flushed_where_the_device_notices_deaths") {
  RemotePeer peer(serve_until_killed);
  const auto device = open_device_under_test();
  Side side(*device);
  connect(peer.wire(), side);
  peer.wire().meet();
  for (std::uint64_t i = 0; i < 3; ++i) must(side.qp.post_receive(side.local(0, 64), i));
  peer.kill();
  if (!notices_idle_death(*device)) {
    WARN("SKIPPED: this device learns of a death by its own requests only");
    return;
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    CHECK(failure(side.receives, i, failure_limit(*device)).status == IBV_WC_WR_FLUSH_ERR);
  }
  CHECK(side.qp.state() == IBV_QPS_ERR);
}

TEST_CASE("connections_to_living_peers_survive_the_death_of_another") {
  RemotePeer victim(serve_until_killed);
  RemotePeer survivor(serve_until_killed);
  const auto device = open_device_under_test();
  Side to_victim(*device);
  Side to_survivor(*device);
  const RemoteMemoryLocator gone = connect(victim.wire(), to_victim);
  const RemoteMemoryLocator memory = connect(survivor.wire(), to_survivor);
  victim.wire().meet();
  survivor.wire().meet();

  victim.kill();
  const PostResult answer =
      to_victim.qp.post_write(to_victim.local(0, 8), gone.part(0, 8), 1, kSignaled);
  for (std::uint64_t i = 0; i < 100; ++i) {
    must(to_survivor.qp.post_write(to_survivor.local(0, 8), memory.part(8 * i, 8), i, kSignaled));
    success(to_survivor.sends, i);
  }
  if (answer == PostResult::kOk) failure(to_victim.sends, 1);
  must(to_survivor.qp.post_send(to_survivor.local(0, 8), 500, kSignaled));
  success(to_survivor.sends, 500);
  survivor.wire().meet();
  survivor.join();
}

TEST_CASE("memory_that_a_killed_peer_was_writing_to_can_be_released") {
  RemotePeer peer([](Wire& wire) {
    const auto device = open_device_under_test();
    Side side(*device);
    const RemoteMemoryLocator memory = connect(wire, side);
    wire.meet();
    for (std::uint64_t i = 0;; ++i) {
      if (i >= 64) next_completion(side.sends);
      must(side.qp.post_write(side.local(0, 4096), memory.part(0, 4096), i, kSignaled));
    }
  });
  const auto device = open_device_under_test();
  const auto begin = SteadyClock::now();
  {
    Side side(*device);
    connect(peer.wire(), side);
    peer.wire().meet();
    CHECK(eventually([&] { return side.at<std::uint64_t>(0) == 0; }));
    std::this_thread::sleep_for(milliseconds(50));
    peer.kill();
  }
  CHECK(SteadyClock::now() - begin < kPatience);
}

TEST_CASE("process_that_ends_normally_is_reported_like_a_killed_one") {
  RemotePeer peer([](Wire& wire) {
    const auto device = open_device_under_test();
    Side side(*device);
    connect(wire, side);
    wire.meet();
  });
  const auto device = open_device_under_test();
  Side side(*device);
  const RemoteMemoryLocator memory = connect(peer.wire(), side);
  peer.wire().meet();
  peer.join();
  const auto begin = SteadyClock::now();
  const PostResult answer = side.qp.post_write(side.local(0, 8), memory.part(0, 8), 2, kSignaled);
  if (answer == PostResult::kOk) {
    failure(side.sends, 2);
    CHECK(SteadyClock::now() - begin < failure_limit(*device));
  } else {
    CHECK(answer == PostResult::kBroken);
  }
  CHECK(eventually([&] { return side.qp.state() == IBV_QPS_ERR; }));
}
