// SPDX-License-Identifier: MIT
// Two NUMA nodes: memory lies where it was asked for, and pinned threads stay where they belong.
#include "dtutils/numa.hpp"

#include <sched.h>

#include <thread>

#include "dtutils/circular_allocator.hpp"
#include "dtutils/general_allocator.hpp"
#include "dtutils/linear_circular_allocator.hpp"
#include "guest.hpp"
#include "pages.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"
#include "support/threads.hpp"

using namespace dtutils;
using namespace support;
using guest::kBothZones;
using guest::nodes_of;

namespace {

NumaZone other(NumaZone zone) { return {static_cast<std::uint16_t>(1 - zone.node)}; }

void touch(const RDMAMemory& memory) {
  for (std::size_t at = 0; at < memory.size(); at += kPage) memory.data()[at] = std::byte{1};
}

}  // namespace

TEST_CASE("guest_has_two_zones_with_cores_of_their_own") {
  if (!guest::inside()) return;
  REQUIRE(has_numa());
  REQUIRE(numa_zones() == kBothZones);
  for (const NumaZone zone : kBothZones) {
    REQUIRE(!cores_of(zone).empty());
    for (const int core : cores_of(zone)) CHECK(guest::core_is_on(core, zone.node));
  }
}

TEST_CASE("segment_lies_on_its_node_whoever_touches_it") {
  if (!guest::inside()) return;
  for (const NumaZone zone : kBothZones) {
    for (const NumaZone toucher : kBothZones) {
      const SharedSegment segment(1 << 20, PageKind::kSmall, zone.node);
      CHECK(nodes_of(segment.data(), segment.size()) == std::set{-1});
      Threads threads;
      threads.start([&] {
        pin_thread(toucher);
        fill({segment.data(), segment.size()}, 1);
      });
      threads.join();
      CHECK(nodes_of(segment.data(), segment.size()) == std::set<int>{zone.node});
      CHECK(zone_of(segment.data() + 5000) == zone);
    }
  }
}

TEST_CASE("registered_memory_lies_in_the_zone_of_its_allocator") {
  if (!guest::inside()) return;
  const auto device = open_device_under_test();
  ProtectionDomain pd(*device);
  for (const NumaZone zone : kBothZones) {
    // The wrong node for the thread that makes it and touches it.
    Threads threads;
    threads.start([&] {
      pin_thread(other(zone));
      RDMAAllocator allocator(pd, zone,
                              {.superpage = 4 * kChunk, .page_kinds = {PageKind::kSmall}});
      std::vector<RDMAMemory> pieces;
      // The fifth one is in a second superpage, the last one in a segment of its own.
      for (int i = 0; i < 5; ++i) pieces.push_back(allocator.allocate());
      pieces.push_back(allocator.allocate(5 * kChunk));
      for (const RDMAMemory& piece : pieces) {
        touch(piece);
        require(piece.zone() == zone, "a piece knows its zone");
        require(nodes_of(piece.data(), piece.size()) == std::set<int>{zone.node},
                "all pages of a piece lie in its zone");
      }
    });
    threads.join();
  }
}

TEST_CASE("units_segments_and_general_pieces_lie_in_the_zone_of_their_source") {
  if (!guest::inside()) return;
  const auto device = open_device_under_test();
  ProtectionDomain pd(*device);
  for (const NumaZone zone : kBothZones) {
    RDMAAllocator source(pd, zone, {.superpage = 8 * kChunk, .page_kinds = {PageKind::kSmall}});
    CircularAllocator units(source);
    LinearCircularAllocator segments(source);
    GeneralAllocator general(source);
    const std::optional<RDMAMemory> unit = units.allocate();
    const std::optional<RDMAMemory> segment = segments.allocate(100);
    const std::optional<RDMAMemory> piece = general.allocate(10'000);
    for (const auto* memory : {&unit, &segment, &piece}) {
      REQUIRE(*memory);
      touch(**memory);
      CHECK((*memory)->zone() == zone);
      CHECK(nodes_of((*memory)->data(), (*memory)->size()) == std::set<int>{zone.node});
    }
  }
}

TEST_CASE("pinned_threads_run_on_cores_of_their_zone_under_load") {
  if (!guest::inside()) return;
  Threads threads;
  for (int i = 0; i < 8; ++i) {
    threads.start([zone = kBothZones[i % 2]] {
      pin_thread(zone);
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
      while (std::chrono::steady_clock::now() < end) {
        require(guest::core_is_on(::sched_getcpu(), zone.node), "the core is one of the zone's");
        require(current_zone() == zone, "the thread knows its zone");
        std::this_thread::yield();
      }
    });
  }
  threads.join();
}

TEST_CASE("writes_cross_the_zones") {
  if (!guest::inside()) return;
  Pair pair;
  RDMAAllocator near(pair.a.pd, {0}, {.superpage = kChunk, .page_kinds = {PageKind::kSmall}});
  RDMAAllocator far(pair.b.pd, {1}, {.superpage = kChunk, .page_kinds = {PageKind::kSmall}});
  const RDMAMemory from = near.allocate();
  const RDMAMemory to = far.allocate();
  fill({from.data(), 100'000}, 4);
  must(pair.a.qp.post_write(from.local(0, 100'000), to.remote().part(0, 100'000), 1, kSignaled));
  success(pair.a.sends, 1);
  CHECK(holds({to.data(), 100'000}, 4));
  CHECK(nodes_of(from.data(), 100'000) == std::set{0});
  CHECK(nodes_of(to.data(), 100'000) == std::set{1});
}
