// SPDX-License-Identifier: MIT
// Superpages are registered once, handed out in chunks, and limited; what is in use stays
// untouched.
#include "dtutils/rdma_allocator.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "dtutils/unit/source.hpp"
#include "support/busy_memory.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/fake_device.hpp"
#include "support/matchers.hpp"
#include "support/random.hpp"

namespace {

using dtutils::kChunk;
using dtutils::PageKind;
using dtutils::ProtectionDomain;
using dtutils::RDMAAllocator;
using dtutils::RDMAAllocatorOptions;
using dtutils::RDMAMemory;
using support::contains;
using support::error_text;
using support::FakeQueuePair;
using support::Source;

/// Four chunks a superpage, on pages that every machine has.
RDMAAllocatorOptions small(std::size_t limit_in_chunks) {
  return {
      .superpage = 4 * kChunk, .limit = limit_in_chunks * kChunk, .page_kinds = {PageKind::kSmall}};
}

}  // namespace

TEST_CASE("first_superpage_is_registered_at_construction_as_one_region") {
  Source f(small(8));
  REQUIRE(f.device.regions().size() == 1);
  CHECK(f.device.regions()[0].size == 4 * kChunk);
  CHECK(f.device.regions()[0].access == dtutils::kAccessAll);
  CHECK(f.allocator.reserved() == 4 * kChunk);
  CHECK(f.allocator.in_use() == 0);
  CHECK(f.allocator.page_kind() == PageKind::kSmall);
  CHECK_THAT(f.allocator.report(),
             contains("registered memory of NUMA zone 0: 8 MiB on 4 KB pages"));
}

TEST_CASE("superpage_of_1_gib_on_small_pages_is_the_default_without_huge_pages") {
  Source f({.page_kinds = {PageKind::kSmall}});
  CHECK(f.allocator.reserved() == dtutils::kSuperpage);
}

TEST_CASE("chunk_carries_the_keys_of_its_superpage") {
  Source f(small(8));
  const RDMAMemory memory = f.allocator.allocate();
  CHECK(memory.size() == kChunk);
  CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % kChunk == 0);
  CHECK(memory.lkey() == f.device.regions()[0].lkey);
  CHECK(memory.rkey() == f.device.regions()[0].rkey);
  CHECK(memory.zone() == f.allocator.zone());
  CHECK(dtutils::SharedSegment::find(memory.data(), memory.size()).has_value());
}

TEST_CASE("piece_is_rounded_up_to_chunks_in_a_row") {
  Source f(small(8));
  CHECK(f.allocator.allocate(1).size() == kChunk);
  CHECK(f.allocator.allocate(kChunk + 1).size() == 2 * kChunk);
  CHECK(f.allocator.allocate(4 * kChunk).size() == 4 * kChunk);
  CHECK(f.allocator.reserved() == 4 * kChunk);
}

TEST_CASE("try_allocate_takes_no_superpage_and_allocate_does") {
  Source f(small(8));
  std::vector<RDMAMemory> all;
  for (int i = 0; i < 4; ++i) all.push_back(*f.allocator.try_allocate());
  CHECK_FALSE(f.allocator.try_allocate().has_value());
  CHECK(f.allocator.reserved() == 4 * kChunk);
  all.push_back(f.allocator.allocate());
  CHECK(f.allocator.reserved() == 8 * kChunk);
  CHECK(f.device.regions().size() == 2);
  CHECK(f.allocator.try_allocate().has_value());
  CHECK(f.allocator.invariant());
}

TEST_CASE("limit_is_kept_and_reported_as_an_error") {
  Source f(small(6));
  std::vector<RDMAMemory> all;
  for (int i = 0; i < 6; ++i) all.push_back(f.allocator.allocate());
  CHECK(f.allocator.reserved() == 6 * kChunk);
  CHECK_THAT(error_text([&] { (void)f.allocator.allocate(); }),
             contains("registered memory of NUMA zone 0: 2 MiB do not fit") &&
                 contains("limit of 12 MiB"));
  all.pop_back();
  CHECK(f.allocator.allocate().size() == kChunk);
}

TEST_CASE("limit_below_a_superpage_makes_the_superpage_smaller") {
  Source f({.limit = 3 * kChunk + 5, .page_kinds = {PageKind::kSmall}});
  CHECK(f.allocator.superpage() == 3 * kChunk);
  CHECK(f.allocator.reserved() == 3 * kChunk);
}

TEST_CASE("options_that_make_no_sense_are_an_error") {
  CHECK_THROWS_AS(Source({.superpage = kChunk + 1}), dtutils::Error);
  CHECK_THROWS_AS(Source({.superpage = 0}), dtutils::Error);
  CHECK_THROWS_AS(Source({.limit = kChunk - 1}), dtutils::Error);
  CHECK_THROWS_AS(Source({.page_kinds = {}}), dtutils::Error);
}

TEST_CASE("piece_larger_than_a_superpage_gets_a_segment_that_goes_back_to_the_system") {
  Source f(small(20));
  std::optional<RDMAMemory> large = f.allocator.allocate(9 * kChunk + 1);
  CHECK(large->size() == 10 * kChunk);
  CHECK_FALSE(f.allocator.try_allocate(5 * kChunk).has_value());
  CHECK(f.allocator.reserved() == 14 * kChunk);
  CHECK(f.allocator.in_use() == 10 * kChunk);
  CHECK(f.device.regions().size() == 2);
  CHECK(f.allocator.invariant());
  large->data()[10 * kChunk - 1] = std::byte{1};
  CHECK_THROWS_AS(f.allocator.allocate(7 * kChunk), dtutils::Error);
  large.reset();
  CHECK(f.allocator.reserved() == 4 * kChunk);
  CHECK(f.device.regions().size() == 1);
  CHECK(f.allocator.invariant());
}

TEST_CASE("own_segment_stays_until_its_tags_are_done") {
  FakeQueuePair qp;
  Source f(small(20));
  {
    RDMAMemory large = f.allocator.allocate(10 * kChunk);
    REQUIRE(large.retire_at(qp.post()));
  }
  CHECK(f.allocator.collect() == 1);
  CHECK(f.device.regions().size() == 2);
  qp.complete(1);
  CHECK(f.allocator.collect() == 0);
  CHECK(f.device.regions().size() == 1);
}

TEST_CASE("size_that_no_machine_has_is_an_error") {
  Source f({.superpage = kChunk, .page_kinds = {PageKind::kSmall}});
  CHECK_THROWS_AS(f.allocator.allocate(SIZE_MAX), dtutils::Error);
  CHECK_THROWS_AS(f.allocator.allocate(std::size_t{1} << 50), dtutils::Error);
  CHECK_FALSE(f.allocator.try_allocate(SIZE_MAX).has_value());
  CHECK(f.allocator.invariant());
}

TEST_CASE("refused_registration_is_passed_on_and_leaves_nothing_behind") {
  support::FakeDevice device;
  device.limit_registrations(kChunk);
  ProtectionDomain pd(device);
  CHECK_THAT(error_text([&] { RDMAAllocator(pd, {}, small(8)); }),
             contains("too much to register"));
  CHECK(device.regions().empty());
}

TEST_CASE("chunk_that_is_not_retired_is_not_handed_out_again") {
  FakeQueuePair qp;
  Source f(small(4));
  std::vector<RDMAMemory> rest;
  RDMAMemory chunk = f.allocator.allocate();
  std::byte* const data = chunk.data();
  while (std::optional<RDMAMemory> next = f.allocator.try_allocate()) {
    rest.push_back(std::move(*next));
  }
  REQUIRE(chunk.retire_at(qp.post()));
  chunk.reset();
  CHECK_FALSE(f.allocator.try_allocate().has_value());
  CHECK_THROWS_AS(f.allocator.allocate(), dtutils::Error);
  CHECK(f.allocator.collect() == 1);
  CHECK(f.allocator.in_use() == 4 * kChunk);
  qp.complete(1);
  const std::optional<RDMAMemory> again = f.allocator.try_allocate();
  REQUIRE(again.has_value());
  CHECK(again->data() == data);
  CHECK(again->retired());
}

TEST_CASE("chunk_that_came_back_no_longer_looks_at_its_queue_pair") {
  Source f(small(1));
  {
    FakeQueuePair gone;
    RDMAMemory memory = f.allocator.allocate();
    REQUIRE(memory.retire_at(gone.post()));
    gone.complete(1);
  }
  FakeQueuePair qp;
  RDMAMemory memory = f.allocator.allocate();
  CHECK(memory.retired());
  CHECK(memory.retire_at(qp.post()));
  CHECK_FALSE(memory.retired());
}

TEST_CASE("piece_used_by_more_queue_pairs_than_allowed_is_not_tagged_silently") {
  FakeQueuePair a;
  FakeQueuePair b;
  FakeQueuePair c;
  RDMAAllocatorOptions options = small(4);
  options.queue_pairs = 2;
  Source f(options);
  RDMAMemory memory = f.allocator.allocate();
  CHECK(memory.retire_at(a.post()));
  CHECK(memory.retire_at(b.post()));
  CHECK_FALSE(memory.retire_at(c.post()));
}

TEST_CASE("chunks_agree_with_a_reference_under_random_use") {
  std::vector<FakeQueuePair> qps(3);
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::Random random(seed);
  constexpr std::size_t kChunks = 70;
  Source f({.superpage = 35 * kChunk, .limit = kChunks * kChunk, .page_kinds = {PageKind::kSmall}});
  support::BusyMemory busy;
  std::vector<RDMAMemory> held;
  for (int step = 0; step < 20'000; ++step) {
    CAPTURE(step);
    FakeQueuePair& qp = qps[random.below(qps.size())];
    switch (random.below(4)) {
      case 0:
      case 1: {
        const std::size_t chunks = random.one_in(3) ? 1 + random.below(6) : 1;
        const bool full = kChunks * kChunk - busy.busy_bytes() < chunks * kChunk;
        const std::size_t reserved = f.allocator.reserved();
        std::optional<RDMAMemory> memory = f.allocator.try_allocate(chunks * kChunk);
        REQUIRE(f.allocator.reserved() == reserved);
        if (!memory && reserved < kChunks * kChunk) memory = f.allocator.allocate(chunks * kChunk);
        if (memory) {
          REQUIRE_FALSE(full);
          REQUIRE(memory->size() == chunks * kChunk);
          REQUIRE(busy.hand_out(*memory));
          held.push_back(std::move(*memory));
        } else {
          // A single chunk is found whenever one is free.
          REQUIRE((full || chunks > 1));
        }
        break;
      }
      case 2:
        if (!held.empty()) {
          std::swap(held[random.below(held.size())], held.back());
          if (!random.one_in(3)) {
            const dtutils::RetireTag tag = qp.post();
            REQUIRE(held.back().retire_at(tag));
            busy.tag(held.back(), tag);
          }
          busy.give_back(held.back());
          held.pop_back();
        }
        break;
      default:
        if (qp.outstanding() > 0) qp.complete(1 + random.below(qp.outstanding()));
        break;
    }
    if (random.one_in(50)) {
      f.allocator.collect();
      REQUIRE(f.allocator.in_use() == busy.busy_bytes());
      REQUIRE(f.allocator.invariant());
    }
    REQUIRE(f.allocator.reserved() <= kChunks * kChunk);
  }
}
