// SPDX-License-Identifier: MIT
// Real 2 MB pages on two nodes: they are used, moved by the device, given back, and run out.
#include "support/huge_pages.hpp"

#include "dtutils/rdma_allocator.hpp"
#include "guest.hpp"
#include "pages.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;
using guest::free_huge_pages;
using guest::kBothZones;
using guest::nodes_of;

namespace {

/// 16 pages at once, in the default order of kinds.
RDMAAllocatorOptions sixteen_pages() { return {.superpage = 16 * kChunk}; }

}  // namespace

TEST_CASE("superpage_takes_2_mb_pages_of_its_zone_and_gives_them_back") {
  if (!guest::inside()) return;
  const auto device = open_device_under_test();
  ProtectionDomain pd(*device);
  for (const NumaZone zone : kBothZones) {
    const int here = zone.node;
    const std::size_t free_here = free_huge_pages(here);
    const std::size_t free_there = free_huge_pages(1 - here);
    const std::size_t free_in_all = free_huge_pages();
    REQUIRE(free_here >= 16);
    {
      RDMAAllocator allocator(pd, zone, sixteen_pages());
      CHECK(allocator.page_kind() == PageKind::kHuge2MB);
      CHECK_THAT(allocator.report(), contains("on 2 MB huge pages"));
      CHECK(free_huge_pages(here) == free_here - 16);
      CHECK(free_huge_pages(1 - here) == free_there);
      CHECK(free_huge_pages() == free_in_all - 16);
      const RDMAMemory memory = allocator.allocate(16 * kChunk);
      CHECK(mapping_value(memory.data(), "KernelPageSize") == 2048);
      CHECK(nodes_of(memory.data(), memory.size()) == std::set{here});
    }
    CHECK(free_huge_pages(here) == free_here);
  }
}

TEST_CASE("segment_on_2_mb_pages_lies_on_its_node") {
  if (!guest::inside()) return;
  for (const NumaZone zone : kBothZones) {
    const std::size_t free = free_huge_pages(zone.node);
    const SharedSegment segment(3 * kChunk, PageKind::kHuge2MB, zone.node);
    CHECK(free_huge_pages(zone.node) == free - 3);
    CHECK(mapping_value(segment.data(), "KernelPageSize") == 2048);
    // The pages are there already, but a process sees only those that it has touched.
    for (std::size_t at = 0; at < segment.size(); at += kPage) segment.data()[at] = std::byte{1};
    CHECK(nodes_of(segment.data(), segment.size()) == std::set<int>{zone.node});
  }
}

TEST_CASE("device_moves_bytes_between_2_mb_pages_of_both_zones") {
  if (!guest::inside()) return;
  Pair pair;
  RDMAAllocator near(pair.a.pd, {0}, {.superpage = 2 * kChunk});
  RDMAAllocator far(pair.b.pd, {1}, {.superpage = 2 * kChunk});
  REQUIRE(near.page_kind() == PageKind::kHuge2MB);
  REQUIRE(far.page_kind() == PageKind::kHuge2MB);
  const RDMAMemory from = near.allocate(2 * kChunk);
  const RDMAMemory to = far.allocate(2 * kChunk);
  // Across the border of two huge pages on both sides.
  constexpr std::size_t kSize = 100'000;
  constexpr std::size_t kFrom = kChunk - 33'333;
  constexpr std::size_t kTo = kChunk - 77'777;
  fill({from.data() + kFrom, kSize}, 6);
  must(pair.a.qp.post_write(from.local(kFrom, kSize), to.remote().part(kTo, kSize), 1, kSignaled));
  success(pair.a.sends, 1);
  CHECK(holds({to.data() + kTo, kSize}, 6));
  CHECK(to.data()[kTo - 1] == std::byte{0});
  CHECK(to.data()[kTo + kSize] == std::byte{0});
}

TEST_CASE("exhausted_pool_of_a_zone_falls_back_to_small_pages_of_the_same_zone") {
  if (!guest::inside()) return;
  const auto device = open_device_under_test();
  ProtectionDomain pd(*device);
  for (const NumaZone zone : kBothZones) {
    const std::size_t free_there = free_huge_pages(1 - zone.node);
    RDMAAllocator allocator(pd, zone, sixteen_pages());
    std::vector<RDMAMemory> huge;
    do {
      REQUIRE(huge.size() < 100);
      REQUIRE(allocator.page_kind() == PageKind::kHuge2MB);
      huge.push_back(allocator.allocate(16 * kChunk));
    } while (free_huge_pages(zone.node) >= 16);

    const RDMAMemory small = allocator.allocate();
    CHECK(allocator.page_kind() == PageKind::kSmall);
    CHECK_THAT(allocator.report(), contains("on 4 KB pages") && contains("no 1 GB huge pages") &&
                                       contains("no 2 MB huge pages") &&
                                       contains("too few free pages") &&
                                       contains("no transparent huge pages"));
    CHECK(mapping_value(small.data(), "KernelPageSize") == 4);
    CHECK(nodes_of(small.data(), small.size()) == std::set<int>{zone.node});
    // Pages of the other zone are not taken instead.
    CHECK(free_huge_pages(1 - zone.node) == free_there);
    for (const RDMAMemory& memory : huge) {
      CHECK(mapping_value(memory.data(), "KernelPageSize") == 2048);
    }
  }
}

TEST_CASE("exhausted_pool_is_an_error_where_only_huge_pages_are_allowed") {
  if (!guest::inside()) return;
  const auto device = open_device_under_test();
  ProtectionDomain pd(*device);
  const std::size_t free = free_huge_pages(1);
  CHECK_THAT(error_text([&] {
               RDMAAllocator(
                   pd, {1}, {.superpage = (free + 1) * kChunk, .page_kinds = {PageKind::kHuge2MB}});
             }),
             contains("registered memory of NUMA zone 1") && contains("too few free pages") &&
                 contains("/sys/devices/system/node/node1/hugepages"));
  CHECK(free_huge_pages(1) == free);
}
