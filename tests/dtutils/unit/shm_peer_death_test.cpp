// SPDX-License-Identifier: MIT
// A peer of the shm device that goes while it is in the middle of something.
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "shm/queue_pair.hpp"
#include "shm/receive.hpp"
#include "shm/send_lock.hpp"
#include "support/catch.hpp"
#include "support/queue_pair_states.hpp"
#include "support/require.hpp"
#include "support/two_processes.hpp"

using namespace dtutils;
using namespace support;

namespace {

constexpr std::chrono::milliseconds kSoon(1000);

void wait_for_the_end(Wire& wire) { wire.hear<char>(); }

void only_connect(Wire& wire) {
  const auto device = open_shm_device({});
  Side side(*device);
  connect(wire, side);
  wait_for_the_end(wire);
}

/// Stops where a sender could be killed: it holds its send lock, has taken a receive of the peer
/// out and has claimed a completion.
void stop_inside_a_send(Wire& wire) {
  const auto device = open_shm_device({});
  Side side(*device);
  connect(wire, side);
  wire.meet();
  shm::QueuePair& qp = shm::from_verbs(side.qp.raw());
  qp.entry->send_lock.fetch_add(1);
  shm::ControlSegment& segment = *qp.remote_segment;
  shm::Receive receive;
  require(take_receive(segment, *qp.remote_receives, *qp.remote, receive),
          "there is no receive to take");
  const shm::CompletionQueueView& completions = *qp.remote_completions;
  const shm::SlotOwner owner{qp.remote_number, true};
  segment.slot<shm::CompletionSlot>(completions.ring, completions.tail_hint.load())
      ->word.store(slot_word(0, shm::SlotState::kClaimed, owner.bits()));
  wire.meet();
  wait_for_the_end(wire);
}

/// The living side of such a connection, with a receive that the peer holds.
struct Survivor {
  explicit Survivor(RemotePeer& peer) : device(open_shm_device({})), side(*device) {
    connect(peer.wire(), side);
    must(side.qp.post_receive(side.local(0, 8), 7));
    must(side.qp.post_receive(side.local(0, 8), 8));
    peer.wire().meet();
    peer.wire().meet();
  }
  std::unique_ptr<Device> device;
  Side side;
};

std::vector<std::uint64_t> next_ids(CompletionQueue& queue, int count) {
  std::vector<std::uint64_t> ids;
  while (count-- > 0) ids.push_back(next_completion(queue, kSoon).wr_id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

/// Kills the peer while `blocked` waits for it; false when that takes too long.
template <class Blocked>
bool ends_soon_after_a_kill(RemotePeer& peer, Blocked blocked) {
  std::chrono::steady_clock::time_point killed;
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    // Before the kill: this thread may lose its core behind it.
    killed = std::chrono::steady_clock::now();
    peer.kill();
  });
  blocked();
  const auto end = std::chrono::steady_clock::now();
  killer.join();
  return end >= killed && end - killed < kSoon;
}

}  // namespace

TEST_CASE("shm_receive_in_the_hands_of_a_killed_peer_is_flushed_once_and_blocks_nobody") {
  RemotePeer peer(stop_inside_a_send);
  Survivor survivor(peer);
  Side& side = survivor.side;
  // A completion of somebody else waits behind the claimed one.
  dtutils::QueuePair other(side.pd, side.sends, side.receives);
  other.connect(other.endpoint());
  must(other.post_receive(side.local(64, 8), 99));
  must(other.post_send(side.local(0, 8), 1, 0));
  CHECK(next_ids(side.receives, 1) == std::vector<std::uint64_t>{99});
  CHECK(stays_empty(side.receives));

  peer.kill();
  CHECK(next_ids(side.receives, 2) == std::vector<std::uint64_t>{7, 8});
  CHECK(stays_empty(side.receives));
  CHECK(side.qp.state() == IBV_QPS_ERR);
}

TEST_CASE("shm_region_is_released_although_its_user_is_killed_in_the_middle") {
  RemotePeer peer(stop_inside_a_send);
  Survivor survivor(peer);
  auto region = std::make_unique<MemoryRegion>(survivor.side.pd, survivor.side.bytes().data(), 64);
  // As the peer does before it looks at the region.
  shm::from_verbs(survivor.side.qp.raw())
      .own.shared()
      .regions[shm::region_index(region->remote().rkey)]
      .in_use.store(1);
  CHECK(ends_soon_after_a_kill(peer, [&] { region.reset(); }));
}

TEST_CASE("shm_region_is_released_only_after_a_post_that_may_have_seen_it") {
  const auto device = open_shm_device({});
  Side side(*device);
  auto region = std::make_unique<MemoryRegion>(side.pd, side.bytes().data(), 64);
  // As a thread of this process does that was stopped in the middle of a post.
  auto& word = shm::from_verbs(side.qp.raw()).entry->send_lock;
  const std::uint32_t held = shm::SendLock::try_take(word);
  REQUIRE(held != 0);
  std::atomic<bool> released = false;
  std::thread releasing([&] {
    region.reset();
    released = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK_FALSE(released);
  shm::SendLock::give_back(word, held);
  releasing.join();
}

TEST_CASE("shm_queue_pair_is_reset_although_its_peer_is_killed_in_the_middle") {
  RemotePeer peer(stop_inside_a_send);
  Survivor survivor(peer);
  Side& side = survivor.side;
  CHECK(ends_soon_after_a_kill(peer, [&] { to_reset(*survivor.device, side.qp.raw()); }));
  CHECK(stays_empty(side.receives));
  // Nothing of the dead peer is left in the queues.
  side.qp.connect(side.qp.endpoint());
  for (std::uint64_t i = 0; i < 3 * kReceiveDepth; ++i) {
    must(side.qp.post_receive(side.local(64, 8), i));
    must(side.qp.post_send(side.local(0, 8), i, kSignaled));
    success(side.sends, i);
    success(side.receives, i);
  }
}

TEST_CASE("shm_queue_pair_is_disconnected_although_its_peer_is_killed_in_the_middle") {
  RemotePeer peer(stop_inside_a_send);
  Survivor survivor(peer);
  CHECK(ends_soon_after_a_kill(peer, [&] { survivor.side.qp.disconnect(); }));
  CHECK(next_ids(survivor.side.receives, 2) == std::vector<std::uint64_t>{7, 8});
}

TEST_CASE("shm_first_post_after_a_death_names_it_and_the_rest_is_flushed") {
  RemotePeer peer(only_connect);
  const auto device = open_shm_device({});
  Side side(*device);
  const RemoteMemoryLocator memory = connect(peer.wire(), side);
  must(side.qp.post_receive(side.local(0, 8), 1));
  peer.kill();
  const ibv_wc flushed = failure(side.receives, 1, kSoon);
  CHECK(flushed.status == IBV_WC_WR_FLUSH_ERR);
  CHECK(flushed.vendor_err == shm::kPeerDied);
  CHECK(side.qp.state() == IBV_QPS_ERR);
  must(side.qp.post_write(side.local(0, 8), memory.part(0, 8), 2, 0));
  const ibv_wc first = failure(side.sends, 2);
  CHECK(first.status == IBV_WC_RETRY_EXC_ERR);
  CHECK(first.vendor_err == shm::kPeerDied);
  must(side.qp.post_write(side.local(0, 8), memory.part(0, 8), 3, 0));
  CHECK(failure(side.sends, 3).status == IBV_WC_WR_FLUSH_ERR);
}

TEST_CASE("shm_peer_that_executes_another_program_is_as_good_as_dead") {
  // A child of it that lives on has copies of its descriptors.
  const bool has_child = GENERATE(false, true);
  CAPTURE(has_child);
  RemotePeer peer([has_child](Wire& wire) {
    const auto device = open_shm_device({});
    Side side(*device);
    connect(wire, side);
    if (has_child && ::fork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) ::pause();
    }
    ::execl("/bin/sleep", "sleep", "60", nullptr);
    fail("there is no /bin/sleep");
  });
  const auto device = open_shm_device({});
  Side side(*device);
  connect(peer.wire(), side);
  must(side.qp.post_receive(side.local(0, 8), 1));
  failure(side.receives, 1, 2 * kSoon);
  CHECK(side.qp.state() == IBV_QPS_ERR);
  CHECK(::kill(peer.pid(), 0) == 0);
}

TEST_CASE("shm_pair_breaks_when_the_peer_closes_its_device") {
  const auto device = open_shm_device({});
  Side side(*device);
  {
    const auto other_device = open_shm_device({});
    Side other(*other_device);
    connect(side.qp, other.qp);
  }
  must(side.qp.post_receive(side.local(0, 8), 1));
  failure(side.receives, 1, kSoon);
  CHECK(side.qp.state() == IBV_QPS_ERR);
}

TEST_CASE("shm_sleeper_wakes_when_the_peer_dies_between_disarming_its_queue_and_waking_it") {
  RemotePeer peer([](Wire& wire) {
    const auto device = open_shm_device({});
    Side side(*device);
    connect(wire, side);
    const shm::QueuePair& qp = shm::from_verbs(side.qp.raw());
    wire.meet();
    qp.remote_completions->armed.store(0);
    wire.meet();
    wait_for_the_end(wire);
  });
  const auto device = open_shm_device({});
  Side side(*device);
  connect(peer.wire(), side);
  REQUIRE(side.receives.arm());
  peer.wire().meet();
  peer.wire().meet();
  peer.kill();
  // As users of epoll do: CompletionChannel::wait looks by itself now and then.
  pollfd channel{side.receive_channel.fd(), POLLIN, 0};
  CHECK(::poll(&channel, 1, static_cast<int>(kSoon.count())) == 1);
  CHECK(side.receive_channel.wait(kSoon) == side.receives.raw());
}

TEST_CASE("shm_adversary_never_kills_its_own_process") {
  RemotePeer peer([](Wire& wire) {
    DeviceOptions options;
    options.adversary = Adversary{};
    options.adversary->kill_after = 1;
    const auto device = open_shm_device(options);
    const auto other_device = open_shm_device({});
    Side side(*device);
    Side other(*other_device);
    connect(side.qp, other.qp);
    must(side.qp.post_write(side.local(0, 8), other.remote(0, 8), 1, kSignaled));
    success(side.sends, 1);
    wire.meet();
  });
  peer.wire().meet();
  peer.join();
}
