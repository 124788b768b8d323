// SPDX-License-Identifier: MIT
// Segments fill a unit one after the other; the unit comes round when all of them are done.
#include "dtutils/linear_circular_allocator.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "dtutils/unit/source.hpp"
#include "support/busy_memory.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

namespace {

using dtutils::CircularAllocatorOptions;
using dtutils::kChunk;
using dtutils::LinearCircularAllocator;
using dtutils::RDMAMemory;
using support::FakeQueuePair;

struct LinearFixture {
  explicit LinearFixture(const CircularAllocatorOptions& options)
      : linear(source.allocator, options) {}

  support::Source source;
  LinearCircularAllocator linear;
};

/// `chunks` units of a chunk.
CircularAllocatorOptions whole_chunks(std::size_t chunks) {
  return {.unit_size = kChunk, .initial_size = chunks * kChunk, .limit = chunks * kChunk};
}

/// The reference: units in the order of their last use, and where the next segment must lie.
class LinearModel {
 public:
  enum class Place { kBehindLast, kSameUnit, kNextUnit, kUnseenUnit, kNowhere };

  explicit LinearModel(std::size_t unit) : unit_(unit), stride_((unit + 63) / 64 * 64) {}

  Place place(std::size_t bytes, std::size_t alignment, std::size_t units) {
    begin_ = (used_ + alignment - 1) / alignment * alignment;
    if (!order_.empty()) {
      if (begin_ + bytes <= unit_) return Place::kBehindLast;
      if (!busy_.busy(order_.back(), unit_)) return Place::kSameUnit;
    }
    if (order_.size() < units) return Place::kUnseenUnit;
    return busy_.busy(order_.front(), unit_) ? Place::kNowhere : Place::kNextUnit;
  }

  /// Whether the segment lies where `place` has said, and nobody uses its bytes.
  bool hand_out(const RDMAMemory& segment, Place place) {
    const std::byte* const unit = unit_of(segment.data());
    bool right = segment.data() == unit;
    switch (place) {
      case Place::kBehindLast:
        right = segment.data() == order_.back() + begin_;
        break;
      case Place::kSameUnit:
        right = right && unit == order_.back();
        break;
      case Place::kNextUnit:
        right = right && unit == order_.front();
        order_.pop_front();
        order_.push_back(unit);
        break;
      case Place::kUnseenUnit:
      case Place::kNowhere:
        right = right && std::find(order_.begin(), order_.end(), unit) == order_.end();
        order_.push_back(unit);
        break;
    }
    used_ = static_cast<std::size_t>(segment.data() - unit) + segment.size();
    return right && busy_.hand_out(segment);
  }

  support::BusyMemory& busy() { return busy_; }

 private:
  const std::byte* unit_of(const std::byte* data) const {
    const std::size_t in_chunk = reinterpret_cast<std::uintptr_t>(data) % kChunk;
    return data - in_chunk % stride_;
  }

  std::size_t unit_;
  std::size_t stride_;
  std::size_t used_ = 0;
  std::size_t begin_ = 0;
  std::deque<const std::byte*> order_;
  support::BusyMemory busy_;
};

}  // namespace

TEST_CASE("segments_follow_each_other_at_their_alignment") {
  LinearFixture f(whole_chunks(1));
  const std::optional<RDMAMemory> a = f.linear.allocate(3);
  const std::optional<RDMAMemory> b = f.linear.allocate(10);
  const std::optional<RDMAMemory> c = f.linear.allocate(1, 1);
  const std::optional<RDMAMemory> d = f.linear.allocate(100, 64);
  REQUIRE(d.has_value());
  CHECK(a->size() == 3);
  CHECK(b->data() == a->data() + 8);
  CHECK(c->data() == a->data() + 18);
  CHECK(d->data() == a->data() + 64);
  CHECK(d->lkey() == f.source.device.regions()[0].lkey);
}

TEST_CASE("segment_up_to_a_whole_unit_is_possible_and_no_larger_one") {
  LinearFixture f({.unit_size = 1000});
  CHECK(f.linear.max_segment() == 1000);
  CHECK(f.linear.allocate(1000).has_value());
  CHECK_FALSE(f.linear.allocate(1001).has_value());
  CHECK_FALSE(f.linear.allocate(SIZE_MAX).has_value());
  CHECK_FALSE(f.linear.allocate(0).has_value());
}

TEST_CASE("segment_that_does_not_fit_goes_to_the_next_unit") {
  LinearFixture f(whole_chunks(2));
  const std::optional<RDMAMemory> a = f.linear.allocate(kChunk - 8);
  const std::optional<RDMAMemory> b = f.linear.allocate(16);
  REQUIRE(b.has_value());
  CHECK(reinterpret_cast<std::uintptr_t>(b->data()) % kChunk == 0);
  const std::optional<RDMAMemory> c = f.linear.allocate(16);
  CHECK(c->data() == b->data() + 16);
}

TEST_CASE("unit_comes_round_only_when_all_its_segments_are_done") {
  FakeQueuePair qp;
  LinearFixture f(whole_chunks(1));
  std::optional<RDMAMemory> held = f.linear.allocate(kChunk / 2);
  {
    std::optional<RDMAMemory> posted = f.linear.allocate(kChunk / 2);
    REQUIRE(posted->retire_at(qp.post()));
  }
  CHECK_FALSE(f.linear.allocate(8).has_value());
  std::byte* const start = held->data();
  held.reset();
  CHECK_FALSE(f.linear.allocate(8).has_value());
  qp.complete(1);
  const std::optional<RDMAMemory> again = f.linear.allocate(8);
  REQUIRE(again.has_value());
  CHECK(again->data() == start);
}

TEST_CASE("unit_waits_for_the_slowest_queue_pair_of_all_its_segments") {
  FakeQueuePair slow;
  FakeQueuePair fast;
  LinearFixture f(whole_chunks(1));
  for (FakeQueuePair* qp : {&slow, &fast, &fast}) {
    std::optional<RDMAMemory> segment = f.linear.allocate(kChunk / 3, 1);
    REQUIRE(segment.has_value());
    REQUIRE(segment->retire_at(qp->post()));
  }
  fast.complete(2);
  CHECK_FALSE(f.linear.allocate(kChunk / 3, 1).has_value());
  slow.complete(1);
  CHECK(f.linear.allocate(kChunk / 3, 1).has_value());
}

TEST_CASE("unit_at_hand_is_reused_from_its_start_when_all_is_done") {
  FakeQueuePair qp;
  LinearFixture f(whole_chunks(4));
  std::byte* first = nullptr;
  for (int i = 0; i < 10; ++i) {
    std::optional<RDMAMemory> segment = f.linear.allocate(kChunk / 2 + 1);
    REQUIRE(segment.has_value());
    first = first == nullptr ? segment->data() : first;
    CHECK(segment->data() == first);
    REQUIRE(segment->retire_at(qp.post()));
    segment.reset();
    qp.complete(1);
  }
}

TEST_CASE("full_ring_still_gives_what_fits_behind_the_last_segment") {
  LinearFixture f(whole_chunks(1));
  const std::optional<RDMAMemory> a = f.linear.allocate(kChunk - 100);
  CHECK_FALSE(f.linear.allocate(200).has_value());
  CHECK(f.linear.allocate(50).has_value());
}

TEST_CASE("segments_make_the_ring_grow_to_its_limit") {
  LinearFixture f({.unit_size = kChunk, .initial_size = kChunk, .limit = 5 * kChunk});
  std::vector<RDMAMemory> all;
  while (std::optional<RDMAMemory> segment = f.linear.allocate(kChunk / 4)) {
    all.push_back(std::move(*segment));
  }
  CHECK(all.size() == 20);
  CHECK(f.linear.ring().size() == 5 * kChunk);
}

TEST_CASE("segments_agree_with_a_reference_under_random_use") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::Random random(seed);
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    std::vector<FakeQueuePair> qps(3);
    const std::size_t unit = 64 + random.below(kChunk / 2);
    const std::size_t limit = kChunk * (1 + random.below(3));
    LinearFixture f({.unit_size = unit, .initial_size = kChunk, .limit = limit, .queue_pairs = 3});
    LinearModel model(unit);
    std::vector<RDMAMemory> held;
    for (int step = 0; step < 3'000; ++step) {
      CAPTURE(step);
      switch (random.below(5)) {
        case 0:
        case 1: {
          const std::size_t bytes = random.size_up_to(unit);
          const std::size_t alignment = std::size_t{1} << random.below(7);
          const std::size_t units = f.linear.ring().units();
          const LinearModel::Place expected = model.place(bytes, alignment, units);
          std::optional<RDMAMemory> segment = f.linear.allocate(bytes, alignment);
          const bool grew = f.linear.ring().units() > units;
          if (!segment) {
            REQUIRE(expected == LinearModel::Place::kNowhere);
            REQUIRE(f.linear.ring().size() == limit);
            break;
          }
          REQUIRE(segment->size() == bytes);
          REQUIRE(reinterpret_cast<std::uintptr_t>(segment->data()) % alignment == 0);
          REQUIRE(grew == (expected == LinearModel::Place::kNowhere));
          REQUIRE(model.hand_out(*segment, expected));
          held.push_back(std::move(*segment));
          break;
        }
        case 2:
        case 3:
          if (!held.empty()) {
            std::swap(held[random.below(held.size())], held.back());
            for (std::size_t uses = random.below(3); uses > 0; --uses) {
              const dtutils::RetireTag tag = qps[random.below(qps.size())].post();
              REQUIRE(held.back().retire_at(tag));
              model.busy().tag(held.back(), tag);
            }
            model.busy().give_back(held.back());
            held.pop_back();
          }
          break;
        default: {
          FakeQueuePair& qp = qps[random.below(qps.size())];
          if (qp.outstanding() > 0) qp.complete(1 + random.below(qp.outstanding()));
          break;
        }
      }
    }
    REQUIRE(f.linear.invariant());
  }
}
