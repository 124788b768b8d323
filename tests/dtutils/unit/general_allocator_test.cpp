// SPDX-License-Identifier: MIT
// Any size at any alignment, freed in any order, coalesced, and given back by the area.
#include "dtutils/general_allocator.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "dtutils/unit/general_fixture.hpp"
#include "support/busy_memory.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

namespace {

using dtutils::Fit;
using dtutils::GeneralAllocator;
using dtutils::GeneralAllocatorOptions;
using dtutils::kCacheLine;
using dtutils::kChunk;
using dtutils::RDMAMemory;
using support::contains;
using support::error_text;
using support::FakeQueuePair;
using support::GeneralFixture;

constexpr std::size_t kKiB = 1024;

/// A chunk with holes of 4, 2 and 3 KiB, in this order, between pieces that stay.
struct Holes : GeneralFixture {
  explicit Holes(Fit fit) : GeneralFixture({.fit = fit, .limit = kChunk}) {
    std::vector<RDMAMemory> gone;
    for (const std::size_t kib : {4, 2, 3}) {
      holes.push_back(gone.emplace_back(general.allocate(kib * kKiB)).data());
      stay.push_back(general.allocate(kKiB));
    }
    stay.push_back(general.allocate(kChunk - 12 * kKiB));
  }

  std::vector<std::byte*> holes;
  std::vector<RDMAMemory> stay;
};

}  // namespace

TEST_CASE("piece_has_the_size_that_was_asked_for_and_the_keys_of_its_region") {
  GeneralFixture f;
  const RDMAMemory memory = f.general.allocate(1000);
  CHECK(memory.size() == 1000);
  CHECK(memory.lkey() == f.source.device.regions()[0].lkey);
  CHECK(memory.remote().rkey == f.source.device.regions()[0].rkey);
  CHECK(f.general.in_use() == 1024);
  CHECK(f.general.reserved() == kChunk);
}

TEST_CASE("no_area_is_taken_before_the_first_piece") {
  GeneralFixture f;
  CHECK(f.general.reserved() == 0);
  CHECK(f.source.allocator.in_use() == 0);
}

TEST_CASE("pieces_never_share_a_cache_line") {
  GeneralFixture f;
  const RDMAMemory a = f.general.allocate(1, 1);
  const RDMAMemory b = f.general.allocate(1, 1);
  CHECK(a.data() + kCacheLine == b.data());
}

TEST_CASE("piece_starts_at_its_alignment_also_above_a_chunk") {
  GeneralFixture f;
  std::vector<RDMAMemory> all;
  for (std::size_t alignment = 1; alignment <= 4 * kChunk; alignment *= 2) {
    all.push_back(f.general.allocate(100, alignment));
    CHECK(reinterpret_cast<std::uintptr_t>(all.back().data()) % alignment == 0);
    CHECK(f.general.invariant());
  }
}

TEST_CASE("first_fit_takes_the_hole_at_the_lowest_address") {
  Holes f(Fit::kFirst);
  CHECK(f.general.allocate(2 * kKiB).data() == f.holes[0]);
}

TEST_CASE("best_fit_takes_the_smallest_hole_that_is_large_enough") {
  Holes f(Fit::kBest);
  const RDMAMemory a = f.general.allocate(2 * kKiB);
  const RDMAMemory b = f.general.allocate(2 * kKiB);
  const RDMAMemory c = f.general.allocate(2 * kKiB);
  CHECK(a.data() == f.holes[1]);
  CHECK(b.data() == f.holes[2]);
  CHECK(c.data() == f.holes[0]);
}

TEST_CASE("freed_neighbours_become_one_block_in_any_order") {
  std::vector<std::size_t> order{0, 1, 2};
  do {
    GeneralFixture f({.limit = kChunk});
    std::vector<RDMAMemory> pieces;
    for (int i = 0; i < 3; ++i) pieces.push_back(f.general.allocate(100 * kKiB));
    const RDMAMemory rest = f.general.allocate(kChunk - 300 * kKiB);
    std::byte* const start = pieces[0].data();
    CHECK_FALSE(f.general.try_allocate(kCacheLine).has_value());
    for (const std::size_t i : order) {
      pieces[i].reset();
      CHECK(f.general.invariant());
    }
    CHECK(f.general.allocate(300 * kKiB).data() == start);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("area_that_is_all_free_goes_back_to_the_source") {
  GeneralFixture f;
  std::optional<RDMAMemory> a = f.general.allocate(kChunk);
  std::optional<RDMAMemory> b = f.general.allocate(100);
  CHECK(f.source.allocator.in_use() == 2 * kChunk);
  a.reset();
  CHECK(f.source.allocator.in_use() == kChunk);
  b.reset();
  CHECK(f.source.allocator.in_use() == 0);
  CHECK(f.general.reserved() == 0);
  CHECK(f.general.invariant());
}

TEST_CASE("neighbouring_areas_are_not_joined") {
  GeneralFixture f;
  const RDMAMemory a = f.general.allocate(kChunk / 2 + 1);
  const RDMAMemory b = f.general.allocate(kChunk / 2 + 1);
  CHECK(f.general.reserved() == 2 * kChunk);
  CHECK(f.general.invariant());
  CHECK(f.general.allocate(kChunk - 1).size() == kChunk - 1);
}

TEST_CASE("piece_larger_than_an_area_or_a_superpage_gets_an_area_of_its_own") {
  GeneralFixture f;
  std::optional<RDMAMemory> several = f.general.allocate(5 * kChunk + 1);
  CHECK(f.general.reserved() == 6 * kChunk);
  std::optional<RDMAMemory> huge = f.general.allocate(20 * kChunk);
  CHECK(f.source.device.regions().size() == 2);
  CHECK(huge->lkey() == f.source.device.regions()[1].lkey);
  huge.reset();
  CHECK(f.source.device.regions().size() == 1);
  several.reset();
  CHECK(f.general.reserved() == 0);
}

TEST_CASE("general_limit_is_kept_and_reported_as_an_error") {
  GeneralFixture f({.area_size = 2 * kChunk, .limit = 3 * kChunk});
  const RDMAMemory a = f.general.allocate(2 * kChunk);
  const RDMAMemory b = f.general.allocate(kChunk);
  CHECK(f.general.reserved() == 3 * kChunk);
  CHECK_THAT(error_text([&] { (void)f.general.allocate(1); }),
             contains("general allocator: 64 bytes do not fit") && contains("limit of 6 MiB"));
  CHECK_FALSE(f.general.try_allocate(1).has_value());
}

TEST_CASE("exhausted_source_is_an_error_in_its_own_words") {
  GeneralFixture f;
  CHECK_THAT(error_text([&] { (void)f.general.allocate(65 * kChunk); }),
             contains("registered memory of NUMA zone 0"));
  CHECK_FALSE(f.general.try_allocate(65 * kChunk).has_value());
  CHECK(f.general.invariant());
}

TEST_CASE("size_or_alignment_that_makes_no_sense_is_an_error") {
  GeneralFixture f;
  CHECK_THROWS_AS(f.general.allocate(0), dtutils::Error);
  CHECK_THROWS_AS(f.general.allocate(SIZE_MAX), dtutils::Error);
  CHECK_THROWS_AS(f.general.allocate(1, 0), dtutils::Error);
  CHECK_THROWS_AS(f.general.allocate(1, 48), dtutils::Error);
  CHECK_THROWS_AS(f.general.allocate(1, ~(SIZE_MAX >> 1)), dtutils::Error);
  CHECK_THROWS_AS(GeneralFixture({.area_size = 0}), dtutils::Error);
  CHECK_THROWS_AS(GeneralFixture({.area_size = 2 * kChunk, .limit = kChunk}), dtutils::Error);
  CHECK(f.general.reserved() == 0);
}

TEST_CASE("piece_that_is_not_retired_is_not_handed_out_again") {
  FakeQueuePair qp;
  GeneralFixture f({.limit = kChunk});
  const RDMAMemory rest = f.general.allocate(kChunk - kKiB);
  {
    RDMAMemory memory = f.general.allocate(kKiB);
    REQUIRE(memory.retire_at(qp.post()));
  }
  CHECK_FALSE(f.general.try_allocate(kKiB).has_value());
  CHECK(f.general.collect() == 1);
  CHECK(f.general.in_use() == kChunk);
  qp.complete(1);
  CHECK(f.general.try_allocate(kKiB).has_value());
}

TEST_CASE("destroyed_general_allocator_leaves_unretired_memory_in_quarantine") {
  FakeQueuePair qp;
  GeneralFixture f;
  {
    GeneralAllocator general(f.source.allocator, {.queue_pairs = 1});
    RDMAMemory memory = general.allocate(kKiB);
    REQUIRE(memory.retire_at(qp.post()));
  }
  CHECK(f.source.allocator.collect() == 1);
  qp.complete(1);
  CHECK(f.source.allocator.collect() == 0);
  CHECK(f.source.allocator.in_use() == 0);
}
