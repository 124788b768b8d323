// SPDX-License-Identifier: MIT
// Control segments that somebody wrote over: nobody leaves its own memory because of them.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "dtutils/error.hpp"
#include "shm/queue_pair.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/random.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

constexpr std::uint64_t kFar = 0x7f0000000000;

shm::ControlSegment& segment_of(const Side& side) {
  return shm::from_verbs(side.qp.raw()).own.shared();
}
shm::QueuePairEntry& entry_of(const Side& side) { return *shm::from_verbs(side.qp.raw()).entry; }
shm::CompletionQueueEntry& receive_cq_of(const Side& side) {
  return segment_of(side).completion_queues[entry_of(side).receive_cq];
}
shm::ReceiveQueueEntry& receives_of(const Side& side) {
  return segment_of(side).receive_queues[entry_of(side).receive_queue];
}
shm::RegionEntry& region_of(const Side& side) {
  return segment_of(side).regions[shm::region_index(side.region.rkey())];
}

/// Two sides on devices of their own, as in two processes.
struct Strangers {
  std::unique_ptr<Device> device_a = open_shm_device({});
  std::unique_ptr<Device> device_b = open_shm_device({});
  Side a{*device_a};
  Side b{*device_b};

  std::string connecting() {
    return error_text([&] { a.qp.connect(b.qp.endpoint()); });
  }
};

void everything_works(Side& a, Side& b) {
  must(b.qp.post_receive(b.local(0, 64), 1));
  must(a.qp.post_send(a.local(0, 64), 2, kSignaled));
  success(a.sends, 2);
  success(b.receives, 1);
  must(a.qp.post_write(a.local(0, 64), b.remote(0, 64), 3, kSignaled));
  success(a.sends, 3);
}

}  // namespace

TEST_CASE("shm_queues_go_on_when_the_segment_says_that_they_lie_elsewhere") {
  Strangers strangers;
  connect(strangers.a.qp, strangers.b.qp);
  everything_works(strangers.a, strangers.b);
  for (const Side* side : {&strangers.a, &strangers.b}) {
    shm::ControlSegment& segment = segment_of(*side);
    for (std::size_t i = 0; i < 8; ++i) {
      segment.completion_queues[i].ring = {kFar, 63, 1u << 31};
      segment.completion_queues[i].channel = {0, 0};
      segment.receive_queues[i].ring = {kFar, 63, 1u << 31};
      segment.receive_queues[i].max_sge = std::numeric_limits<std::uint32_t>::max();
    }
    entry_of(*side).receive_queue = 1u << 30;
    entry_of(*side).receive_cq = 1u << 30;
    segment.header.doorbell = {0, 0};
  }
  everything_works(strangers.a, strangers.b);
  everything_works(strangers.b, strangers.a);
}

TEST_CASE("shm_peer_whose_queues_cannot_be_where_it_says_is_refused") {
  Strangers strangers;
  Side& b = strangers.b;
  SECTION("far away") { receive_cq_of(b).ring.offset = kFar; }
  SECTION("across the end") { receive_cq_of(b).ring.offset = shm::kArenaSize - kCacheLine; }
  SECTION("across a word") { receives_of(b).ring.offset += 4; }
  SECTION("too many slots") { receive_cq_of(b).ring.shift = 40; }
  SECTION("other slots") { receives_of(b).ring.slot_size = 8; }
  SECTION("too many elements") { receives_of(b).max_sge = shm::kMaxScatterGather + 1; }
  SECTION("no such completion queue") { entry_of(b).receive_cq = shm::kMaxCompletionQueues; }
  SECTION("no such receive queue") { entry_of(b).receive_queue = shm::kMaxReceiveQueues; }
  CHECK_THAT(strangers.connecting(), contains("control segment was damaged"));
  CHECK(strangers.a.qp.state() != IBV_QPS_RTR);
}

TEST_CASE("shm_peer_of_another_layout_is_refused") {
  Strangers strangers;
  segment_of(strangers.b).header.layout += 1;
  CHECK_THAT(strangers.connecting(), contains("another layout of the control segment"));
}

TEST_CASE("shm_region_that_cannot_lie_where_the_peer_says_breaks_the_pair_of_who_uses_it") {
  Strangers strangers;
  Side& a = strangers.a;
  Side& b = strangers.b;
  connect(a.qp, b.qp);
  shm::RegionEntry& region = region_of(b);
  const int unsealed = ::memfd_create("unsealed", MFD_CLOEXEC);
  struct stat status {};
  REQUIRE((::ftruncate(unsealed, 1 << 20) == 0 && ::fstat(unsealed, &status) == 0));
  SECTION("beyond the end of its file") { region.segment_offset = kFar; }
  SECTION("longer than its file") { region.length = region.segment_size + 1; }
  SECTION("in a longer file") {
    region.segment_size += kPage;
    region.length = region.segment_size;
  }
  SECTION("in a file that can be made shorter") {
    region.fd = unsealed;
    region.inode = status.st_ino;
  }
  must(a.qp.post_write(a.local(0, 8), b.remote(0, 8), 1, kSignaled));
  const ibv_wc failed = failure(a.sends, 1);
  CHECK(failed.status == IBV_WC_GENERAL_ERR);
  CHECK(failed.vendor_err == shm::kDamaged);
  CHECK(a.qp.state() == IBV_QPS_ERR);
  ::close(unsealed);
}

TEST_CASE("shm_loopback_does_not_believe_its_own_segment_either") {
  Pair pair;
  must(pair.b.qp.post_receive(pair.b.local(0, 64), 1));
  const shm::ReceiveQueueView& receives = *shm::from_verbs(pair.b.qp.raw()).receive_queue;
  auto& slot = *segment_of(pair.b).slot<shm::ReceiveSlot>(receives.ring, 0);
  // A buffer outside of the region, which the segment says to be inside.
  slot.elements()[0].address.store(kFar);
  region_of(pair.b).address = kFar;
  must(pair.a.qp.post_send(pair.a.local(0, 64), 2, kSignaled));
  CHECK(failure(pair.a.sends, 2).status == IBV_WC_REM_OP_ERR);
  CHECK(failure(pair.b.receives, 1).status == IBV_WC_LOC_PROT_ERR);
}

namespace {

/// As another process does it: unseen by the thread sanitizer.
__attribute__((no_sanitize_thread)) void scribble_on(std::span<std::uint32_t> words,
                                                     Random& random) {
  for (std::uint32_t& word : words) {
    if (random.one_in(3)) word = static_cast<std::uint32_t>(random.below(1ull << 32));
  }
}

}  // namespace

TEST_CASE("shm_survives_random_values_in_its_control_segment") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random(seed);
  for (int round = 0; round < 20; ++round) {
    Strangers strangers;
    Side& a = strangers.a;
    Side& b = strangers.b;
    connect(a.qp, b.qp);
    must(b.qp.post_receive(b.local(0, 64), 1));
    const auto scribble = [&](auto& object) {
      scribble_on({reinterpret_cast<std::uint32_t*>(&object), sizeof object / 4}, random);
    };
    const shm::ReceiveQueueView& receives = *shm::from_verbs(b.qp.raw()).receive_queue;
    for (std::uint64_t i = 0; i < receives.ring.capacity(); ++i) {
      auto& slot = *segment_of(b).slot<shm::ReceiveSlot>(receives.ring, i);
      scribble(slot.sge_count);
      scribble(slot.elements()[0]);
      scribble(slot.elements()[1]);
    }
    scribble(receives_of(b));
    scribble(receive_cq_of(b));
    scribble(region_of(b));
    region_of(b).key.store(b.region.rkey());
    // Whatever becomes of them; nobody may crash.
    for (std::uint64_t i = 0; i < 3; ++i) {
      (void)a.qp.post_send(a.local(0, 64), i, kSignaled);
      (void)a.qp.post_write(a.local(0, 64), b.remote(0, 64), i, kSignaled);
      ibv_wc polled{};
      (void)a.sends.poll({&polled, 1});
      (void)b.receives.poll({&polled, 1});
    }
  }
}
