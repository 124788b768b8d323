// SPDX-License-Identifier: MIT
// Any size at any alignment, freed in any order, coalesced, and given back by the area.
#include "dtutils/general_allocator.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "dtutils/unit/source.hpp"
#include "support/busy_memory.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/random.hpp"

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

constexpr std::size_t kKiB = 1024;

struct GeneralFixture {
  explicit GeneralFixture(const GeneralAllocatorOptions& options = {})
      : general(source.allocator, options) {}

  support::Source source{dtutils::RDMAAllocatorOptions{
      .superpage = 16 * kChunk, .limit = 64 * kChunk, .page_kinds = {dtutils::PageKind::kSmall}}};
  GeneralAllocator general;
};

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

/// The reference: free blocks by address, searched in the simplest way.
class BlockModel {
 public:
  BlockModel(Fit fit, std::byte* begin, std::size_t size) : fit_(fit) { free_[begin] = size; }

  std::byte* take(std::size_t bytes, std::size_t alignment) {
    const std::size_t size = whole_lines(bytes);
    auto chosen = free_.end();
    for (auto at = free_.begin(); at != free_.end(); ++at) {
      const bool fits = size + gap(at->first, alignment) <= at->second;
      const bool better =
          chosen == free_.end() || (fit_ == Fit::kBest && at->second < chosen->second);
      if (fits && better) chosen = at;
    }
    if (chosen == free_.end()) return nullptr;
    const auto [begin, length] = *chosen;
    const std::size_t before = gap(begin, alignment);
    free_.erase(chosen);
    if (before > 0) free_[begin] = before;
    if (before + size < length) free_[begin + before + size] = length - before - size;
    return begin + before;
  }

  void free(std::byte* begin, std::size_t bytes) {
    auto at = free_.emplace(begin, whole_lines(bytes)).first;
    if (const auto next = std::next(at); next != free_.end() && next->first == begin + at->second) {
      at->second += next->second;
      free_.erase(next);
    }
    if (at == free_.begin()) return;
    if (const auto last = std::prev(at); last->first + last->second == begin) {
      last->second += at->second;
      free_.erase(at);
    }
  }

 private:
  static std::size_t whole_lines(std::size_t bytes) {
    return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  }
  static std::size_t gap(const std::byte* address, std::size_t alignment) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return (at + alignment - 1) / alignment * alignment - at;
  }

  Fit fit_;
  std::map<std::byte*, std::size_t> free_;
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

TEST_CASE("addresses_agree_with_a_reference_under_random_use") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::Random random(seed);
  for (const Fit fit : {Fit::kFirst, Fit::kBest}) {
    CAPTURE(static_cast<int>(fit));
    constexpr std::size_t kArea = 4 * kChunk;
    GeneralFixture f({.fit = fit, .area_size = kArea, .limit = kArea});
    // A piece that stays keeps the area; it lies at its start.
    const RDMAMemory anchor = f.general.allocate(1);
    BlockModel model(fit, anchor.data(), kArea);
    REQUIRE(model.take(1, 1) == anchor.data());
    std::vector<RDMAMemory> held;
    for (int step = 0; step < 20'000; ++step) {
      CAPTURE(step);
      if (random.below(100) < 53) {
        const std::size_t bytes = random.size_up_to(kArea / 4);
        const std::size_t alignment = std::size_t{1} << random.below(17);
        std::optional<RDMAMemory> memory = f.general.try_allocate(bytes, alignment);
        std::byte* const expected = model.take(bytes, std::max(alignment, kCacheLine));
        REQUIRE((memory ? memory->data() : nullptr) == expected);
        if (memory) held.push_back(std::move(*memory));
      } else if (!held.empty()) {
        std::swap(held[random.below(held.size())], held.back());
        model.free(held.back().data(), held.back().size());
        held.pop_back();
      }
      if (step % 100 == 0) REQUIRE(f.general.invariant());
    }
    held.clear();
    REQUIRE(f.general.allocate(kArea - kCacheLine).data() == anchor.data() + kCacheLine);
  }
}

TEST_CASE("pieces_of_many_areas_agree_with_a_reference_under_random_use") {
  std::vector<FakeQueuePair> qps(3);
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::Random random(seed);
  GeneralFixture f({.fit = random.one_in(2) ? Fit::kFirst : Fit::kBest, .limit = 40 * kChunk});
  support::BusyMemory busy;
  std::vector<RDMAMemory> held;
  for (int step = 0; step < 20'000; ++step) {
    CAPTURE(step);
    switch (random.below(5)) {
      case 0:
      case 1: {
        const std::size_t bytes = random.size_up_to(3 * kChunk);
        std::optional<RDMAMemory> memory = f.general.try_allocate(bytes);
        if (memory) {
          REQUIRE(memory->size() == bytes);
          REQUIRE(busy.hand_out(*memory));
          held.push_back(std::move(*memory));
        } else {
          REQUIRE(busy.busy_bytes() > 0);
        }
        break;
      }
      case 2:
      case 3:
        if (!held.empty()) {
          std::swap(held[random.below(held.size())], held.back());
          if (random.one_in(2)) {
            const dtutils::RetireTag tag = qps[random.below(qps.size())].post();
            REQUIRE(held.back().retire_at(tag));
            busy.tag(held.back(), tag);
          }
          busy.give_back(held.back());
          held.pop_back();
        }
        break;
      default: {
        FakeQueuePair& qp = qps[random.below(qps.size())];
        if (qp.outstanding() > 0) qp.complete(1 + random.below(qp.outstanding()));
        break;
      }
    }
    REQUIRE(f.general.reserved() <= 40 * kChunk);
    if (step % 100 == 0) {
      REQUIRE(f.general.invariant());
      REQUIRE(f.source.allocator.invariant());
      REQUIRE(f.source.allocator.in_use() == f.general.reserved());
    }
  }
  held.clear();
  for (FakeQueuePair& qp : qps) qp.complete(qp.outstanding());
  CHECK(f.general.collect() == 0);
  CHECK(f.general.in_use() == 0);
  CHECK(f.source.allocator.in_use() == 0);
}
