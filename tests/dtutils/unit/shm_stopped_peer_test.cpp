// SPDX-License-Identifier: MIT
// A peer of the shm device that is stopped (SIGSTOP) in the middle of a write: who waits for it?
#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>

#include "shm/handover.hpp"
#include "shm/queue_pair.hpp"
#include "shm/segment.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/queue_pair_states.hpp"
#include "support/require.hpp"
#include "support/two_processes.hpp"

using namespace dtutils;
using namespace support;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kAtOnce(500);
/// kStoppedPatience, and time for a loaded machine.
constexpr std::chrono::milliseconds kBounded(4000);

/// Connects, writes once, and stands still in the middle of the next operation until it is told to
/// go on.
void stand_still(Wire& wire) {
  const auto device = open_shm_device({});
  Side side(*device);
  connect(wire, side);
  const auto lent = wire.hear<RemoteMemoryLocator>();
  must(side.qp.post_write(side.local(0, 8), lent.part(0, 8), 1, kSignaled));
  success(side.sends, 1);
  std::atomic<std::uint32_t>& lock = shm::from_verbs(side.qp.raw()).entry->send_lock;
  lock.fetch_add(1);
  wire.meet();
  wire.hear<char>();
  lock.fetch_add(1);
  wire.meet();
  wire.hear<char>();
}

template <class Call>
Clock::duration time_of(Call call) {
  const auto begin = Clock::now();
  call();
  return Clock::now() - begin;
}

struct Stopped {
  Stopped() {
    connect(peer.wire(), side);
    peer.wire().tell(lent->remote());
    peer.wire().meet();
  }
  void go_on() {
    peer.wire().tell('x');
    peer.wire().meet();
  }
  RemotePeer peer{stand_still};
  std::unique_ptr<Device> device = open_shm_device({});
  Side side{*device};
  SharedSegment segment{4096, PageKind::kSmall, -1};
  /// What the peer writes to.
  std::unique_ptr<MemoryRegion> lent =
      std::make_unique<MemoryRegion>(side.pd, segment.data(), segment.size());
};

}  // namespace

TEST_CASE("shm_region_that_a_stopped_peer_never_used_is_given_back_at_once") {
  Stopped stopped;
  const SharedSegment segment(4096, PageKind::kSmall, -1);
  ibv_mr* const region =
      stopped.device->reg_mr(stopped.side.pd.raw(), segment.data(), 4096, kAccessAll);
  CHECK(time_of([&] { stopped.device->dereg_mr(region); }) < kAtOnce);
  CHECK(stopped.side.qp.state() == IBV_QPS_RTS);
}

TEST_CASE("shm_region_that_a_stopped_peer_uses_is_given_back_in_bounded_time") {
  Stopped stopped;
  const std::uint32_t index = stopped.lent->remote().rkey & 0xffff;
  CHECK(time_of([&] { stopped.lent.reset(); }) < kBounded);
  CHECK(eventually([&] { return stopped.side.qp.state() == IBV_QPS_ERR; }));
  const SharedSegment segment(4096, PageKind::kSmall, -1);
  const auto other = std::make_unique<MemoryRegion>(stopped.side.pd, segment.data(), 4096);
  // Its place in the table is given to nobody before the peer has gone on.
  CHECK((other->remote().rkey & 0xffff) != index);
}

TEST_CASE("shm_queue_pair_of_a_stopped_peer_can_be_reset_but_not_connected") {
  Stopped stopped;
  ibv_qp* const qp = stopped.side.qp.raw();
  CHECK(time_of([&] { to_reset(*stopped.device, qp); }) < kBounded);
  Side other(*stopped.device);
  CHECK_THAT(error_text([&] { connect(stopped.side.qp, other.qp); }),
             Catch::Matchers::Contains("is stopped while it uses it"));
  stopped.go_on();
  to_reset(*stopped.device, qp);
  to_reset(*stopped.device, other.qp.raw());
  connect(stopped.side.qp, other.qp);
}

TEST_CASE("shm_death_of_one_peer_is_noticed_while_set_up_waits_for_another_that_is_stopped") {
  RemotePeer dying([](Wire& wire) {
    const auto device = open_shm_device({});
    Side side(*device);
    connect(wire, side);
    wire.hear<char>();
  });
  Stopped stopped;
  Side third(*stopped.device);
  connect(dying.wire(), third);
  std::thread setup([&] { stopped.side.qp.disconnect(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  dying.kill();
  CHECK(time_of([&] { CHECK(eventually([&] { return third.qp.state() == IBV_QPS_ERR; })); }) <
        std::chrono::milliseconds(1000));
  setup.join();
}

TEST_CASE("shm_sleeper_wakes_although_a_peer_is_stopped_between_disarming_and_waking_it") {
  // By a completion that is there, whether the peer has disarmed the queue or not yet.
  const bool disarms = GENERATE(true, false);
  CAPTURE(disarms);
  RemotePeer peer([disarms](Wire& wire) {
    const auto device = open_shm_device({});
    Side side(*device);
    connect(wire, side);
    const shm::QueuePair& qp = shm::from_verbs(side.qp.raw());
    wire.meet();
    const shm::CompletionQueueView& queue = *qp.remote_completions;
    const std::uint32_t armed = queue.armed.exchange(0);
    must(side.qp.post_send(side.local(0, 8), 1, 0));
    if (!disarms) queue.armed.store(armed);
    wire.meet();
    wire.hear<char>();
  });
  const auto device = open_shm_device({});
  Side side(*device);
  connect(peer.wire(), side);
  must(side.qp.post_receive(side.local(0, 8), 7));
  REQUIRE(side.receives.arm());
  peer.wire().meet();
  peer.wire().meet();
  peer.stop();
  CHECK(time_of([&] { CHECK(side.receive_channel.wait(kPatience) == side.receives.raw()); }) <
        std::chrono::milliseconds(2000));
  success(side.receives, 7);
  // One event for one arming.
  CHECK(side.receive_channel.wait(kAtOnce) == nullptr);
}

TEST_CASE("shm_connecting_to_a_stopped_peer_fails_in_bounded_time") {
  RemotePeer peer([](Wire& wire) {
    const auto device = open_shm_device({});
    Side side(*device);
    wire.tell(side.qp.endpoint());
    wire.hear<char>();
  });
  const auto device = open_shm_device({});
  Side side(*device);
  const auto endpoint = peer.wire().hear<Endpoint>();
  peer.stop();
  std::string text;
  const auto time = time_of([&] { text = error_text([&] { side.qp.connect(endpoint); }); });
  CHECK_THAT(text, Catch::Matchers::Contains("it does not answer"));
  CHECK(time < std::chrono::seconds(8));
  REQUIRE(::kill(peer.pid(), SIGCONT) == 0);
}

TEST_CASE("shm_process_that_is_stopped_while_a_peer_lets_it_in_is_let_in") {
  RemotePeer owner([](Wire& wire) {
    const shm::OwnSegment own;
    wire.tell(own.address());
    wire.hear<char>();
  });
  RemotePeer visitor([](Wire& wire) {
    const auto address = wire.hear<shm::Address>();
    wire.meet();
    require(static_cast<bool>(shm::knock(address)), "it is let in");
  });
  const auto address = owner.wire().hear<shm::Address>();
  owner.stop();
  visitor.wire().tell(address);
  visitor.wire().meet();
  // It waits for the owner in most of them.
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    visitor.stop();
    REQUIRE(::kill(visitor.pid(), SIGCONT) == 0);
  }
  REQUIRE(::kill(owner.pid(), SIGCONT) == 0);
  CHECK_NOTHROW(visitor.join());
}
