// SPDX-License-Identifier: MIT
// Units are reused in turn as they retire; the ring grows to its limit and then says that it is
// full.
#include "dtutils/circular_allocator.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "dtutils/unit/source.hpp"
#include "support/busy_memory.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

namespace {

using dtutils::CircularAllocator;
using dtutils::CircularAllocatorOptions;
using dtutils::Growth;
using dtutils::kChunk;
using dtutils::RDMAAllocator;
using dtutils::RDMAMemory;
using support::contains;
using support::error_text;
using support::FakeQueuePair;
using support::Source;

/// Two units a chunk, so that tests can count.
constexpr std::size_t kHalf = kChunk / 2;

CircularAllocatorOptions half_chunks(std::size_t chunks) {
  return {.unit_size = kHalf, .initial_size = chunks * kChunk, .limit = chunks * kChunk};
}

void post_and_let_go(std::optional<RDMAMemory> unit, FakeQueuePair& qp) {
  REQUIRE(unit.has_value());
  REQUIRE(unit->retire_at(qp.post()));
}

}  // namespace

TEST_CASE("units_are_disjoint_and_carry_the_keys_of_their_chunk") {
  Source source;
  CircularAllocator ring(source.allocator, {.unit_size = 1000, .limit = kChunk});
  CHECK(ring.unit_size() == 1000);
  CHECK(ring.units() == kChunk / 1024);
  std::vector<RDMAMemory> all;
  std::set<std::byte*> starts;
  while (std::optional<RDMAMemory> unit = ring.allocate()) {
    REQUIRE(unit->size() == 1000);
    REQUIRE(reinterpret_cast<std::uintptr_t>(unit->data()) % dtutils::kCacheLine == 0);
    REQUIRE(unit->lkey() == source.device.regions()[0].lkey);
    REQUIRE(unit->rkey() == source.device.regions()[0].rkey);
    starts.insert(unit->data());
    all.push_back(std::move(*unit));
  }
  CHECK(all.size() == ring.units());
  CHECK(starts.size() == ring.units());
  CHECK(*starts.rbegin() - *starts.begin() == (kChunk / 1024 - 1) * 1024);
}

TEST_CASE("unit_comes_round_again_in_the_same_order") {
  Source source;
  CircularAllocator ring(source.allocator, half_chunks(2));
  std::vector<std::byte*> lap;
  for (int i = 0; i < 4; ++i) lap.push_back(ring.allocate()->data());
  for (int i = 0; i < 8; ++i) CHECK(ring.allocate()->data() == lap[i % 4]);
}

TEST_CASE("unit_that_is_held_is_not_handed_out_again") {
  Source source;
  CircularAllocator ring(source.allocator, half_chunks(1));
  std::optional<RDMAMemory> held = ring.allocate();
  std::optional<RDMAMemory> other = ring.allocate();
  other.reset();
  CHECK_FALSE(ring.allocate().has_value());
  std::byte* const data = held->data();
  held.reset();
  CHECK(ring.allocate()->data() == data);
}

TEST_CASE("unit_that_is_not_retired_is_not_handed_out_again") {
  FakeQueuePair qp;
  Source source;
  CircularAllocator ring(source.allocator, half_chunks(1));
  post_and_let_go(ring.allocate(), qp);
  post_and_let_go(ring.allocate(), qp);
  CHECK_FALSE(ring.allocate().has_value());
  qp.complete(1);
  std::optional<RDMAMemory> again = ring.allocate();
  REQUIRE(again.has_value());
  CHECK(again->retired());
  CHECK_FALSE(ring.allocate().has_value());
}

TEST_CASE("unit_waits_for_every_queue_pair_that_used_it") {
  FakeQueuePair a;
  FakeQueuePair b;
  Source source;
  CircularAllocator ring(source.allocator, half_chunks(1));
  {
    std::optional<RDMAMemory> unit = ring.allocate();
    REQUIRE(unit->retire_at(a.post()));
    REQUIRE(unit->retire_at(b.post()));
  }
  post_and_let_go(ring.allocate(), a);
  a.complete(2);
  CHECK_FALSE(ring.allocate().has_value());
  b.complete(1);
  CHECK(ring.allocate().has_value());
}

TEST_CASE("slow_unit_holds_up_the_ring") {
  FakeQueuePair slow;
  FakeQueuePair fast;
  Source source;
  CircularAllocator ring(source.allocator, half_chunks(1));
  post_and_let_go(ring.allocate(), slow);
  post_and_let_go(ring.allocate(), fast);
  fast.complete(1);
  CHECK_FALSE(ring.allocate().has_value());
}

TEST_CASE("linear_growth_adds_the_initial_size_each_time") {
  Source source;
  CircularAllocator ring(source.allocator, {.unit_size = kHalf,
                                            .initial_size = 2 * kChunk,
                                            .limit = 7 * kChunk,
                                            .growth = Growth::kLinear});
  std::vector<std::size_t> sizes{ring.size() / kChunk};
  std::vector<RDMAMemory> all;
  while (std::optional<RDMAMemory> unit = ring.allocate()) {
    all.push_back(std::move(*unit));
    if (ring.size() / kChunk != sizes.back()) sizes.push_back(ring.size() / kChunk);
  }
  CHECK(sizes == std::vector<std::size_t>{2, 4, 6, 7});
  CHECK(all.size() == 14);
  CHECK(ring.invariant());
}

TEST_CASE("exponential_growth_doubles_the_ring_up_to_the_limit") {
  Source source;
  CircularAllocator ring(source.allocator,
                         {.unit_size = kHalf, .initial_size = kChunk, .limit = 11 * kChunk});
  std::vector<std::size_t> sizes{ring.size() / kChunk};
  std::vector<RDMAMemory> all;
  while (std::optional<RDMAMemory> unit = ring.allocate()) {
    all.push_back(std::move(*unit));
    if (ring.size() / kChunk != sizes.back()) sizes.push_back(ring.size() / kChunk);
  }
  CHECK(sizes == std::vector<std::size_t>{1, 2, 4, 8, 11});
  CHECK(all.size() == 22);
  CHECK_FALSE(ring.grow());
  CHECK(ring.invariant());
}

TEST_CASE("ring_does_not_grow_while_its_next_unit_is_free") {
  FakeQueuePair qp;
  Source source;
  CircularAllocator ring(source.allocator, {.unit_size = kHalf});
  for (int i = 0; i < 100; ++i) {
    post_and_let_go(ring.allocate(), qp);
    qp.complete(1);
  }
  CHECK(ring.size() == kChunk);
}

TEST_CASE("new_units_come_before_the_one_that_was_not_free") {
  Source source;
  CircularAllocator ring(source.allocator, {.unit_size = kHalf});
  std::optional<RDMAMemory> first = ring.allocate();
  std::optional<RDMAMemory> second = ring.allocate();
  std::byte* const oldest = first->data();
  std::optional<RDMAMemory> third = ring.allocate();
  std::optional<RDMAMemory> fourth = ring.allocate();
  REQUIRE(fourth.has_value());
  CHECK(ring.size() == 2 * kChunk);
  first.reset();
  CHECK(ring.allocate()->data() == oldest);
}

TEST_CASE("ring_grown_beforehand_allocates_without_growing") {
  Source source;
  CircularAllocator ring(source.allocator, {.unit_size = kHalf, .limit = 4 * kChunk});
  CHECK(ring.grow());
  CHECK(ring.grow());
  CHECK_FALSE(ring.grow());
  CHECK(ring.size() == 4 * kChunk);
  CHECK(ring.units() == 8);
}

TEST_CASE("exhausted_source_stops_growth_until_it_is_asked_for_again") {
  Source source(2);
  CircularAllocator ring(source.allocator, {.unit_size = kHalf});
  std::optional<RDMAMemory> taken = source.allocator.allocate();
  std::vector<RDMAMemory> all;
  for (int i = 0; i < 2; ++i) all.push_back(*ring.allocate());
  CHECK_FALSE(ring.allocate().has_value());
  taken.reset();
  CHECK_FALSE(ring.allocate().has_value());
  CHECK(ring.grow());
  CHECK(ring.allocate().has_value());
  CHECK(ring.invariant());
}

TEST_CASE("unit_larger_than_a_chunk_gets_chunks_in_a_row") {
  Source source;
  CircularAllocator ring(source.allocator,
                         {.unit_size = 2 * kChunk + 1, .initial_size = 1, .limit = 6 * kChunk});
  CHECK(ring.units() == 1);
  CHECK(ring.size() == 3 * kChunk);
  const std::optional<RDMAMemory> first = ring.allocate();
  const std::optional<RDMAMemory> second = ring.allocate();
  REQUIRE(second.has_value());
  CHECK(second->size() == 2 * kChunk + 1);
  CHECK_FALSE(ring.allocate().has_value());
}

TEST_CASE("ring_with_sizes_that_do_not_fit_is_an_error") {
  Source source(2);
  const auto text = [&](const CircularAllocatorOptions& options) {
    return error_text([&] { CircularAllocator(source.allocator, options); });
  };
  CHECK_THAT(text({.unit_size = 0}), contains("units of 0 bytes"));
  CHECK_THAT(text({.unit_size = 2 * kChunk, .limit = kChunk}), contains("units of 4 MiB"));
  CHECK_THAT(text({.initial_size = 2 * kChunk, .limit = kChunk}), contains("4 MiB at first"));
  CHECK_THAT(text({.limit = kChunk / 2}), contains("1 MiB at most"));
  CHECK_THAT(text({.unit_size = SIZE_MAX, .limit = SIZE_MAX}), contains("units of"));
  CHECK_THAT(text({.initial_size = 3 * kChunk}), contains("registered memory of NUMA zone 0"));
  CHECK(source.allocator.in_use() == 0);
}

TEST_CASE("destroyed_ring_gives_its_chunks_back_but_not_those_in_use") {
  FakeQueuePair a;
  FakeQueuePair b;
  Source source(4);
  {
    CircularAllocator ring(source.allocator, half_chunks(4));
    for (int i = 0; i < 3; ++i) post_and_let_go(ring.allocate(), a);
    post_and_let_go(ring.allocate(), b);
  }
  CHECK(source.allocator.in_use() == 2 * kChunk);
  CHECK(source.allocator.collect() == 2);
  a.complete(3);
  CHECK(source.allocator.collect() == 1);
  b.complete(1);
  CHECK(source.allocator.collect() == 0);
  CHECK(source.allocator.in_use() == 0);
}

TEST_CASE("collected_ring_no_longer_looks_at_a_queue_pair_that_goes_away") {
  Source source;
  CircularAllocator ring(source.allocator, half_chunks(1));
  {
    FakeQueuePair qp;
    post_and_let_go(ring.allocate(), qp);
    CHECK(ring.collect() == 1);
    qp.complete(1);
    CHECK(ring.collect() == 0);
  }
  CHECK(ring.allocate().has_value());
  CHECK(ring.allocate().has_value());
}
