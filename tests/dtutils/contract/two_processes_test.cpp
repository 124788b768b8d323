// SPDX-License-Identifier: MIT
// Every operation between two processes.
#include "support/two_processes.hpp"

#include <thread>

#include "dtutils/device_memory.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace dtutils;
using namespace support;

namespace {

/// A process that grants its memory and runs no code while it is accessed, until it is met again.
void grant_memory(Wire& wire) {
  const auto device = open_device_under_test();
  Side side(*device);
  fill(side.bytes().first(1000), 1);
  connect(wire, side);
  wire.meet();
}

}  // namespace

TEST_CASE("one_sided_operations_reach_another_process") {
  RemotePeer peer(grant_memory);
  const auto device = open_device_under_test();
  Side side(*device);
  const RemoteMemoryLocator memory = connect(peer.wire(), side);

  must(side.qp.post_read(side.local(0, 1000), memory.part(0, 1000), 1, kSignaled));
  success(side.sends, 1);
  CHECK(holds(side.bytes().first(1000), 1));

  fill(side.bytes().first(3000), 2);
  must(side.qp.post_write(side.local(0, 3000), memory.part(5000, 3000), 2, kSignaled));
  must(side.qp.post_read(side.local(8000, 3000), memory.part(5000, 3000), 3, kSignaled));
  success(side.sends, 2);
  success(side.sends, 3);
  CHECK(holds(side.bytes().subspan(8000, 3000), 2));
  peer.wire().meet();
  peer.join();
}

TEST_CASE("messages_go_both_ways_between_processes") {
  constexpr std::uint64_t kCount = 200;
  RemotePeer peer([](Wire& wire) {
    const auto device = open_device_under_test();
    Side side(*device);
    connect(wire, side);
    must(side.qp.post_receive(side.local(64, 64), 0));
    wire.meet();
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const ibv_wc received = success(side.receives, i);
      require_equal(immediate_of(received), i, "the immediate data");
      side.at<std::uint64_t>(0) = side.at<std::uint64_t>(64) * 2;
      must(side.qp.post_receive(side.local(64, 64), i + 1));
      must(side.qp.post_send(side.local(0, 8), i, kSignaled));
      success(side.sends, i);
    }
  });
  const auto device = open_device_under_test();
  Side side(*device);
  connect(peer.wire(), side);
  peer.wire().meet();
  for (std::uint64_t i = 0; i < kCount; ++i) {
    side.at<std::uint64_t>(0) = i;
    must(side.qp.post_receive(side.local(64, 64), i));
    must(side.qp.post_send_with_immediate(side.local(0, 8), static_cast<std::uint32_t>(i), i,
                                          kSignaled));
    success(side.sends, i);
    success(side.receives, i);
    CHECK(side.at<std::uint64_t>(64) == 2 * i);
  }
  peer.join();
}

TEST_CASE("written_word_is_seen_by_a_process_that_polls_it") {
  constexpr std::uint64_t kCount = 200;
  // Each process writes the next number into the other's memory as soon as it sees the last one.
  const auto play = [](Wire& wire, std::uint64_t first) {
    const auto device = open_device_under_test();
    Side side(*device);
    const RemoteMemoryLocator memory = connect(wire, side);
    for (std::uint64_t number = first; number <= kCount; number += 2) {
      const bool seen =
          eventually([&] { return load_device_word(&side.at<std::uint64_t>(0)) == number - 1; });
      require(seen, "a number never arrived");
      side.at<std::uint64_t>(64) = number;
      must(side.qp.post_write(side.local(64, 8), memory.part(0, 8), number, kSignaled));
      success(side.sends, number);
    }
    wire.meet();
  };
  RemotePeer peer([&](Wire& wire) { play(wire, 2); });
  play(peer.wire(), 1);
  peer.join();
}

TEST_CASE("atomics_of_two_processes_sum_up") {
  constexpr std::uint64_t kCount = 300;
  const auto add = [](Side& side, const RemoteMemoryLocator& word) {
    for (std::uint64_t i = 0; i < kCount; ++i) {
      must(side.qp.post_fetch_and_add(side.local(0, 8), word, 1, i, kSignaled));
      success(side.sends, i);
    }
  };
  RemotePeer peer([&](Wire& wire) {
    const auto device = open_device_under_test();
    if (!device->info().atomics) return;
    Side side(*device);
    const RemoteMemoryLocator memory = connect(wire, side);
    add(side, memory.part(512, 8));
    wire.meet();
  });
  const auto device = open_device_under_test();
  if (!device->info().atomics) {
    WARN("SKIPPED: this device offers no atomics");
    return;
  }
  Side side(*device);
  connect(peer.wire(), side);
  Side local(*device);
  QueuePair loop(side.pd, side.sends, side.receives);
  connect(local.qp, loop);
  add(local, side.remote(512, 8));
  peer.wire().meet();
  CHECK(side.at<std::uint64_t>(512) == 2 * kCount);
  peer.join();
}

TEST_CASE("process_that_sleeps_is_woken_by_another") {
  RemotePeer peer([](Wire& wire) {
    const auto device = open_device_under_test();
    Side side(*device);
    connect(wire, side);
    for (std::uint64_t i = 0; i < 20; ++i) {
      must(side.qp.post_receive(side.local(0, 8), i));
      require(side.receives.arm(), "cannot arm");
      wire.meet();
      require(side.receive_channel.wait(kPatience) == side.receives.raw(), "was not woken");
      success(side.receives, i);
    }
  });
  const auto device = open_device_under_test();
  Side side(*device);
  const RemoteMemoryLocator memory = connect(peer.wire(), side);
  for (std::uint64_t i = 0; i < 20; ++i) {
    peer.wire().meet();
    if (i % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (i % 2 == 0) {
      must(side.qp.post_send(side.local(0, 8), i, kSignaled));
    } else {
      must(
          side.qp.post_write_with_immediate(side.local(0, 8), memory.part(64, 8), 1, i, kSignaled));
    }
    success(side.sends, i);
  }
  peer.join();
}

TEST_CASE("violation_is_refused_and_both_processes_live") {
  RemotePeer peer([](Wire& wire) {
    const auto device = open_device_under_test();
    Side side(*device);
    Side second(*device);
    connect(wire, side);
    connect(wire, second);
    wire.meet();
    require(all_bytes(side.bytes(), 0), "a refused write changed the region");
    require_equal(second.at<std::uint64_t>(0), 9u, "the word written by the second queue pair");
    wire.meet();
  });
  const auto device = open_device_under_test();
  Side side(*device);
  Side second(*device);
  RemoteMemoryLocator memory = connect(peer.wire(), side);
  const RemoteMemoryLocator other_memory = connect(peer.wire(), second);
  side.at<std::uint64_t>(0) = second.at<std::uint64_t>(0) = 9;
  memory.address += memory.length;
  must(side.qp.post_write(side.local(0, 8), memory, 1, kSignaled));
  CHECK(failure(side.sends, 1).status == IBV_WC_REM_ACCESS_ERR);
  must(second.qp.post_write(second.local(0, 8), other_memory, 2, kSignaled));
  success(second.sends, 2);
  peer.wire().meet();
  peer.wire().meet();
  peer.join();
}

TEST_CASE("region_deregistered_by_the_other_process_is_refused") {
  RemotePeer peer([](Wire& wire) {
    const auto device = open_device_under_test();
    Side side(*device);
    auto region = std::make_unique<MemoryRegion>(side.pd, side.segment.data(), 4096);
    connect(wire, side);
    wire.tell(region->remote());
    wire.meet();
    region.reset();
    wire.meet();
    wire.meet();
    require_equal(side.at<std::uint64_t>(0), 1u, "the word that only the first write may change");
  });
  const auto device = open_device_under_test();
  Side side(*device);
  connect(peer.wire(), side);
  const auto region = peer.wire().hear<RemoteMemoryLocator>();
  side.at<std::uint64_t>(0) = 1;
  must(side.qp.post_write(side.local(0, 8), region.part(0, 8), 1, kSignaled));
  success(side.sends, 1);
  peer.wire().meet();
  peer.wire().meet();
  side.at<std::uint64_t>(0) = 2;
  must(side.qp.post_write(side.local(0, 8), region.part(0, 8), 2, kSignaled));
  CHECK(failure(side.sends, 2).status == IBV_WC_REM_ACCESS_ERR);
  peer.wire().meet();
  peer.join();
}

TEST_CASE("shared_receive_queue_serves_another_process_and_this_one") {
  RemotePeer peer([](Wire& wire) {
    const auto device = open_device_under_test();
    Side side(*device);
    connect(wire, side);
    for (std::uint64_t i = 0; i < 10; ++i) {
      must(side.qp.post_send(side.local(0, 8), i, kSignaled));
      success(side.sends, i);
    }
    wire.meet();
  });
  const auto device = open_device_under_test();
  SideOptions options;
  options.shared_receives = 64;
  Side receiver(*device, options);
  connect(peer.wire(), receiver);
  for (std::uint64_t i = 0; i < 20; ++i) {
    REQUIRE(receiver.shared_receives->post_receive(receiver.local(64 * i, 64), i));
  }
  Side local(*device);
  QueuePairOptions drawing;
  drawing.shared_receive_queue = receiver.shared_receives.get();
  QueuePair end(receiver.pd, receiver.sends, receiver.receives, drawing);
  connect(local.qp, end);
  for (std::uint64_t i = 0; i < 10; ++i) {
    must(local.qp.post_send(local.local(0, 8), i, kSignaled));
    success(local.sends, i);
  }
  int from_here = 0;
  for (int i = 0; i < 20; ++i) {
    const ibv_wc received = next_completion(receiver.receives);
    REQUIRE(received.status == IBV_WC_SUCCESS);
    from_here += received.qp_num == end.raw()->qp_num;
  }
  CHECK(from_here == 10);
  peer.wire().meet();
  peer.join();
}
