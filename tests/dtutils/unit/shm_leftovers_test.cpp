// SPDX-License-Identifier: MIT
// What the shm device leaves behind: no descriptor, no mapping of freed memory, no file.
#include "shm/queue_pair.hpp"
#include "support/catch.hpp"
#include "support/leftovers.hpp"
#include "support/queue_pair_states.hpp"
#include "support/require.hpp"
#include "support/two_processes.hpp"

using namespace dtutils;
using namespace support;

namespace {

void write_once(Side& from, const MemoryRegion& to) {
  must(from.qp.post_write(from.local(0, 8), to.remote(), 1, kSignaled));
  success(from.sends, 1);
}

}  // namespace

TEST_CASE("shm_device_closes_every_descriptor") {
  { const auto first = open_shm_device({}); }
  const std::size_t before = open_descriptors();
  {
    const auto device = open_shm_device({});
    const auto other_device = open_shm_device({});
    Side a(*device);
    Side b(*other_device);
    Side c(*device);
    connect(a.qp, b.qp);
    c.qp.connect(c.qp.endpoint());
    must(a.qp.post_write(a.local(0, 8), b.remote(0, 8), 1, kSignaled));
    success(a.sends, 1);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("shm_peer_is_let_go_when_nobody_is_connected_to_it_any_more") {
  const auto device = open_shm_device({});
  const auto other_device = open_shm_device({});
  Side a(*device);
  Side b(*other_device);
  const std::size_t descriptors = open_descriptors();
  const std::size_t segments = mapped_segments();
  {
    dtutils::QueuePair one(a.pd, a.sends, a.receives);
    dtutils::QueuePair other(b.pd, b.sends, b.receives);
    connect(one, other);
    must(one.post_write(a.local(0, 8), b.remote(0, 8), 1, kSignaled));
    success(a.sends, 1);
    CHECK(mapped_segments() == segments + 1);
  }
  CHECK(eventually([&] { return open_descriptors() == descriptors; }));
  CHECK(eventually([&] { return mapped_segments() == segments; }));
}

TEST_CASE("shm_channel_of_a_peer_is_shared_by_pairs_and_let_go_with_the_last_of_them") {
  const auto device = open_shm_device({});
  const auto other_device = open_shm_device({});
  Side a(*device);
  Side b(*other_device);
  // So that the peer stays, and knows the channel of this side.
  connect(a.qp, b.qp);
  Side c(*other_device);
  const std::size_t descriptors = open_descriptors();
  {
    dtutils::QueuePair one(a.pd, a.sends, a.receives);
    dtutils::QueuePair at_c(c.pd, c.sends, c.receives);
    connect(one, at_c);
    CHECK(open_descriptors() == descriptors + 1);
    {
      dtutils::QueuePair another(a.pd, a.sends, a.receives);
      connect(another, c.qp);
      CHECK(open_descriptors() == descriptors + 1);
    }
    REQUIRE(c.receives.arm());
    must(at_c.post_receive(c.local(0, 8), 1));
    must(one.post_send(a.local(0, 8), 2, kSignaled));
    success(a.sends, 2);
    CHECK(c.receive_channel.wait(kPatience) == c.receives.raw());
  }
  CHECK(eventually([&] { return open_descriptors() == descriptors; }));
}

TEST_CASE("shm_peer_that_has_died_is_let_go_although_the_queue_pairs_to_it_stay") {
  RemotePeer peer([](Wire& wire) {
    const auto device = open_shm_device({});
    Side side(*device);
    connect(wire, side);
    wire.hear<char>();
  });
  const auto device = open_shm_device({});
  Side a(*device);
  Side b(*device);
  const std::size_t descriptors = open_descriptors();
  const std::size_t segments = mapped_segments(kAnySegment);
  const RemoteMemoryLocator memory = connect(peer.wire(), a);
  must(a.qp.post_write(a.local(0, 8), memory.part(0, 8), 1, kSignaled));
  success(a.sends, 1);
  CHECK(open_descriptors() > descriptors);
  CHECK(mapped_segments(kAnySegment) > segments);
  peer.kill();
  CHECK(eventually([&] { return open_descriptors() == descriptors; }));
  CHECK(eventually([&] { return mapped_segments(kAnySegment) == segments; }));

  // It can be used as any broken pair, and connected again.
  must(a.qp.post_write(a.local(0, 8), memory.part(0, 8), 2, 0));
  CHECK(failure(a.sends, 2).vendor_err == shm::kPeerDied);
  must(a.qp.post_receive(a.local(0, 8), 3));
  CHECK(failure(a.receives, 3).vendor_err == shm::kPeerDied);
  a.qp.disconnect();
  CHECK(a.qp.state() == IBV_QPS_ERR);
  to_reset(*device, a.qp.raw());
  connect(a.qp, b.qp);
  write_once(a, b.region);
  CHECK(open_descriptors() == descriptors);
}

TEST_CASE("shm_memory_that_a_peer_freed_is_unmapped") {
  const auto device = open_shm_device({});
  const auto other_device = open_shm_device({});
  Side a(*device);
  Side b(*other_device);
  connect(a.qp, b.qp);
  must(a.qp.post_write(a.local(0, 8), b.remote(0, 8), 1, kSignaled));
  success(a.sends, 1);
  const std::size_t before = mapped_segments();
  for (int round = 0; round < 10; ++round) {
    const SharedSegment segment(1 << 20, PageKind::kSmall, -1);
    // Two regions of one file share its mapping.
    const MemoryRegion first(b.pd, segment.data(), 4096);
    write_once(a, first);
    {
      const MemoryRegion second(b.pd, segment.data() + 4096, 4096);
      write_once(a, second);
      CHECK(eventually([&] { return mapped_segments() <= before + 3; }));
    }
    write_once(a, first);
  }
  CHECK(eventually([&] { return mapped_segments() == before; }));
  must(a.qp.post_write(a.local(0, 8), b.remote(0, 8), 2, kSignaled));
  success(a.sends, 2);
}

TEST_CASE("shm_channels_that_a_peer_makes_and_destroys_do_not_pile_up") {
  const auto device = open_shm_device({});
  const auto other_device = open_shm_device({});
  Side a(*device);
  Side b(*other_device);
  connect(a.qp, b.qp);
  const std::size_t before = open_descriptors();
  for (int round = 0; round < 20; ++round) {
    Side again(*other_device);
    dtutils::QueuePair qp(a.pd, a.sends, a.receives);
    connect(qp, again.qp);
    REQUIRE(again.receives.arm());
    must(again.qp.post_receive(again.local(0, 8), 1));
    must(qp.post_send(a.local(0, 8), 2, kSignaled));
    success(a.sends, 2);
    CHECK(again.receive_channel.wait(kPatience) == again.receives.raw());
  }
  CHECK(open_descriptors() <= before + 2);
}

TEST_CASE("shm_peers_leave_no_file_behind_even_when_killed") {
  const auto shared_memory = entries("/dev/shm");
  const auto temporary = entries("/tmp", "cariama");
  RemotePeer peer([](Wire& wire) {
    const auto device = open_shm_device({});
    Side side(*device);
    connect(wire, side);
    wire.hear<char>();
  });
  {
    const auto device = open_shm_device({});
    Side side(*device);
    connect(peer.wire(), side);
    CHECK(entries("/dev/shm") == shared_memory);
    peer.kill();
    CHECK(eventually([&] { return side.qp.state() == IBV_QPS_ERR; }));
  }
  CHECK(entries("/dev/shm") == shared_memory);
  CHECK(entries("/tmp", "cariama") == temporary);
}
