// SPDX-License-Identifier: MIT
// A Transmitter on a real device: what it sends arrives, what it recycles is free, and when it
// breaks it says why and lets go.
#include "dtutils/transmitter.hpp"

#include <array>
#include <cstring>

#include "dtutils/circular_allocator.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "support/require.hpp"
#include "support/transmitter_scene.hpp"

using namespace dtutils;
using namespace support;
using Outcome = Synchronizer::Outcome;

namespace {

struct Scene : TransmitterScene {
  explicit Scene(std::uint32_t threads = 1, const SideOptions& options = {})
      : TransmitterScene(for_threads(threads), options) {}
  static TransmitterOptions for_threads(std::uint32_t threads) {
    TransmitterOptions options = TransmitterOptions::for_threads(threads);
    options.queue_pair.max_inline = 0;
    return options;
  }

  /// Polls until it is broken and every tag is done.
  bool ends() {
    return eventually([&] {
      transmitter.progress();
      return transmitter.broken() && transmitter.tag().done();
    });
  }
};

}  // namespace

TEST_CASE("flushed_writes_have_arrived") {
  for (const std::uint32_t threads : {1u, 4u}) {
    Scene scene(threads);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      scene.source.at<std::uint64_t>(8 * i) = i + 1;
      REQUIRE(scene.transmitter.write(scene.source.local(8 * i, 8), scene.target.remote(8 * i, 8)));
    }
    const RetireTag tag = scene.transmitter.tag();
    REQUIRE(scene.transmitter.flush(kPatience));
    CHECK(tag.done());
    for (std::uint64_t i = 0; i < 1000; ++i)
      REQUIRE(scene.target.at<std::uint64_t>(8 * i) == i + 1);
    // A second one has nothing left to wait for.
    REQUIRE(scene.transmitter.flush(kPatience));
  }
}

TEST_CASE("transmitter_that_was_reset_serves_another_peer") {
  for (const std::uint32_t threads : {1u, 4u}) {
    Scene scene(threads);
    scene.source.at<std::uint64_t>(0) = 1;
    REQUIRE(scene.transmitter.write(scene.source.local(0, 8), scene.target.remote(0, 8)));
    const RetireTag before = scene.transmitter.tag();
    REQUIRE(scene.transmitter.flush(kPatience));
    scene.transmitter.reset();
    CHECK(scene.transmitter.queue_pair().state() == IBV_QPS_RESET);

    Side other(*scene.device);
    scene.transmitter.connect(other.qp.endpoint());
    other.qp.connect(scene.transmitter.endpoint());
    CHECK(before.done());
    for (std::uint64_t i = 0; i < 1000; ++i) {
      scene.source.at<std::uint64_t>(8 * i) = i + 2;
      REQUIRE(scene.transmitter.write(scene.source.local(8 * i, 8), other.remote(8 * i, 8)));
    }
    const RetireTag after = scene.transmitter.tag();
    CHECK(after.ticket > before.ticket);
    REQUIRE(scene.transmitter.flush(kPatience));
    CHECK(after.done());
    for (std::uint64_t i = 0; i < 1000; ++i) REQUIRE(other.at<std::uint64_t>(8 * i) == i + 2);
    CHECK(scene.target.at<std::uint64_t>(0) == 1);
  }
}

TEST_CASE("a_prepared_request_is_posted_again_and_again") {
  for (const std::uint32_t threads : {1u, 4u}) {
    Scene scene(threads);
    const auto element = [&](std::size_t offset, std::uint32_t length) {
      const LocalBuffer piece = scene.source.local(offset, length);
      return ibv_sge{reinterpret_cast<std::uint64_t>(piece.address), length, piece.lkey};
    };
    // The first element is another one each time, the second always the same.
    ibv_sge elements[] = {element(0, 8), element(40000, 4)};
    scene.source.at<std::uint32_t>(40000) = 0x5eed;
    ibv_send_wr request{};
    request.sg_list = elements;
    request.num_sge = 2;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.wr.rdma.rkey = scene.target.region.rkey();
    for (std::uint64_t i = 0; i < 1000; ++i) {
      scene.source.at<std::uint64_t>(8 * i) = i + 1;
      elements[0] = element(8 * i, 8);
      request.wr.rdma.remote_addr = scene.target.remote(16 * i, 12).address;
      Synchronizer sent(1);
      const bool tracked = i % 100 == 99;
      REQUIRE(scene.transmitter.post(request, tracked ? PostOptions(sent) : PostOptions()));
      if (tracked) REQUIRE(scene.transmitter.wait(sent, kPatience) == Outcome::kDone);
    }
    REQUIRE(scene.transmitter.flush(kPatience));
    for (std::uint64_t i = 0; i < 1000; ++i) {
      REQUIRE(scene.target.at<std::uint64_t>(16 * i) == i + 1);
      REQUIRE(scene.target.at<std::uint32_t>(16 * i + 8) == 0x5eed);
    }
  }
}

TEST_CASE("units_of_a_ring_are_never_handed_out_before_they_were_sent") {
  Scene scene;
  RDMAAllocator memory(scene.source.pd, {},
                       {.superpage = kChunk, .limit = kChunk, .page_kinds = {PageKind::kSmall}});
  CircularAllocator ring(memory, {.unit_size = 256 << 10, .limit = kChunk});
  REQUIRE(ring.units() == 8);
  constexpr std::uint64_t kWrites = 2000;
  for (std::uint64_t i = 0; i < kWrites; ++i) {
    std::optional<RDMAMemory> unit = ring.allocate();
    Deadline deadline(kPatience);
    while (!unit) {
      REQUIRE_FALSE(deadline.passed());
      // The ring is full and nothing more will be sent: a flush retires what there is.
      REQUIRE(scene.transmitter.flush(kPatience));
      unit = ring.allocate();
    }
    std::memcpy(unit->data(), &i, sizeof i);
    RDMAMemory part = unit->part(0, sizeof i);
    REQUIRE(scene.transmitter.write(part, scene.target.remote(8 * i, 8)));
  }
  REQUIRE(scene.transmitter.flush(kPatience));
  for (std::uint64_t i = 0; i < kWrites; ++i) REQUIRE(scene.target.at<std::uint64_t>(8 * i) == i);
  CHECK(ring.collect() == 0);
}

TEST_CASE("synchronizer_tells_that_reads_and_sends_are_done") {
  Scene scene;
  fill(scene.target.bytes().first(256), 3);
  Synchronizer arrived(2);
  for (std::size_t half = 0; half < 2; ++half) {
    REQUIRE(scene.transmitter.read(scene.source.local(half * 128, 128),
                                   scene.target.remote(half * 128, 128), arrived));
  }
  CHECK(scene.transmitter.wait(arrived, kPatience) == Outcome::kDone);
  CHECK(holds(scene.source.bytes().first(256), 3));

  // The peer has no receive yet: the send waits, which is no failure.
  Synchronizer sent(1);
  REQUIRE(scene.transmitter.send_with_immediate(scene.source.local(0, 64), 77, sent));
  CHECK(scene.transmitter.wait(sent, std::chrono::milliseconds(20)) == Outcome::kTimeout);
  must(scene.target.qp.post_receive(scene.target.local(1024, 64), 5));
  CHECK(scene.transmitter.wait(sent, kPatience) == Outcome::kDone);
  CHECK(immediate_of(success(scene.target.receives, 5)) == 77);
}

TEST_CASE("peer_decrements_a_synchronizer_in_registered_memory") {
  // The transmitter plays the peer: it decrements the target's Synchronizer.
  Scene scene;
  auto* executed = new (scene.target.bytes().data()) Synchronizer(2);
  REQUIRE(scene.transmitter
              .blocking_fetch_and_add(scene.target.remote(0, 8), Synchronizer::kRemoteDecrement)
              .has_value());
  CHECK(executed->pending() == 1);
  scene.source.at<std::uint64_t>(0) = Synchronizer::kDoneWord;
  REQUIRE(scene.transmitter.write(scene.source.local(0, 8), scene.target.remote(0, 8)));
  CHECK(executed->wait_for(kPatience) == Outcome::kDone);
}

TEST_CASE("blocking_operations_bring_their_result") {
  for (const std::uint32_t threads : {1u, 4u}) {
    Scene scene(threads);
    scene.target.at<std::uint64_t>(0) = 40;
    const RemoteMemoryLocator word = scene.target.remote(0, 8);
    for (std::uint64_t i = 0; i < 300; ++i) {
      REQUIRE(scene.transmitter.blocking_fetch_and_add(word, 2) == 40 + 2 * i);
      // Others are on their way, some of which are not signaled.
      REQUIRE(scene.transmitter.write(scene.source.local(0, 8), scene.target.remote(16, 8)));
    }
    CHECK(scene.transmitter.blocking_compare_and_swap(word, 1, 2) == 640u);
    CHECK(scene.transmitter.blocking_compare_and_swap(word, 640, 2) == 640u);
    REQUIRE(scene.transmitter.blocking_read(scene.source.local(8, 8), word));
    CHECK(scene.source.at<std::uint64_t>(8) == 2);
  }
}

TEST_CASE("blocking_atomics_end_without_a_value_when_their_access_is_refused") {
  for (const std::uint32_t threads : {1u, 4u}) {
    Scene scene(threads);
    RemoteMemoryLocator wrong = scene.target.remote(0, 8);
    wrong.rkey ^= 0x5555;
    CHECK_FALSE(scene.transmitter.blocking_fetch_and_add(wrong, 1).has_value());
    CHECK_FALSE(
        scene.transmitter.blocking_compare_and_swap(scene.target.remote(0, 8), 0, 1).has_value());
    CHECK(scene.ends());
  }
}

TEST_CASE("refused_access_breaks_the_transmitter_and_names_the_cause") {
  for (const std::uint32_t threads : {1u, 4u}) {
    Scene scene(threads);
    RemoteMemoryLocator wrong = scene.target.remote(0, 8);
    wrong.rkey ^= 0x5555;
    Synchronizer sent(2);
    REQUIRE(scene.transmitter.write(scene.source.local(0, 8), scene.target.remote(0, 8)));
    REQUIRE(scene.transmitter.write(scene.source.local(0, 8), wrong, sent));
    if (!scene.transmitter.write(scene.source.local(0, 8), scene.target.remote(0, 8), sent)) {
      CHECK(scene.transmitter.broken());
    }
    CHECK(scene.transmitter.wait(sent, kPatience) == Outcome::kFailed);
    CHECK(sent.failures() == 2);
    REQUIRE(scene.transmitter.error().has_value());
    CHECK(scene.transmitter.error()->status == IBV_WC_REM_ACCESS_ERR);
    CHECK_THAT(describe(*scene.transmitter.error()), contains("rkey"));
    CHECK_FALSE(scene.transmitter.flush(kPatience));
    CHECK(scene.ends());
  }
}

TEST_CASE("peer_that_goes_away_under_load_lets_the_sender_go_and_its_memory") {
  Scene scene;
  Synchronizer sent(1);
  REQUIRE(scene.transmitter.write(scene.source.local(0, 8), scene.target.remote(0, 8), sent));
  REQUIRE(scene.transmitter.wait(sent, kPatience) == Outcome::kDone);
  scene.target.qp.disconnect();
  Deadline deadline(kPatience);
  while (scene.transmitter.write(scene.source.local(0, 64), scene.target.remote(0, 64))) {
    REQUIRE_FALSE(deadline.passed());
  }
  REQUIRE(scene.transmitter.error().has_value());
  CHECK(scene.transmitter.error()->status == IBV_WC_RETRY_EXC_ERR);
  CHECK_FALSE(scene.transmitter.blocking_fetch_and_add(scene.target.remote(0, 8), 1).has_value());
  CHECK(scene.ends());
}

TEST_CASE("request_that_the_device_refuses_breaks_the_transmitter") {
  Scene scene;
  REQUIRE(scene.transmitter.write(scene.source.local(0, 8), scene.target.remote(0, 8)));
  const std::uint32_t too_long = scene.transmitter.queue_pair().max_inline() + 1;
  // Some providers see it late: then the completion says so.
  (void)scene.transmitter.write(scene.source.local(0, too_long), scene.target.remote(0, too_long),
                                kInlined);
  CHECK(scene.ends());
  CHECK_FALSE(scene.transmitter.write(scene.source.local(0, 8), scene.target.remote(0, 8)));
}
