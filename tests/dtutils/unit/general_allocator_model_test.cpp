// SPDX-License-Identifier: MIT
// The general allocator against a reference, under random use.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "dtutils/unit/general_fixture.hpp"
#include "support/busy_memory.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

namespace {

using dtutils::Fit;
using dtutils::kCacheLine;
using dtutils::kChunk;
using dtutils::RDMAMemory;
using support::FakeQueuePair;
using support::GeneralFixture;

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
