// SPDX-License-Identifier: MIT
// The circular allocator against a reference, under random use.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "dtutils/circular_allocator.hpp"
#include "dtutils/unit/source.hpp"
#include "support/busy_memory.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using dtutils::CircularAllocator;
using dtutils::CircularAllocatorOptions;
using dtutils::Growth;
using dtutils::kChunk;
using dtutils::RDMAMemory;
using support::FakeQueuePair;
using support::Source;

TEST_CASE("ring_agrees_with_a_reference_under_random_use") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::Random random(seed);
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    std::vector<FakeQueuePair> qps(3);
    Source source;
    const std::size_t limit = 1 + random.below(8);
    const CircularAllocatorOptions options{
        .unit_size = kChunk / (1 + random.below(6)),
        .initial_size = kChunk * (1 + random.below(limit)),
        .limit = limit * kChunk,
        .growth = random.one_in(2) ? Growth::kLinear : Growth::kExponential};
    CircularAllocator ring(source.allocator, options);
    support::BusyMemory busy;
    std::vector<RDMAMemory> held;
    // The order in which units were handed out last: the front is the next one, once all were seen.
    std::deque<const std::byte*> order;
    for (int step = 0; step < 500; ++step) {
      CAPTURE(step);
      FakeQueuePair& qp = qps[random.below(qps.size())];
      switch (random.below(3)) {
        case 0: {
          const std::size_t units = ring.units();
          const bool fresh = order.size() < units;
          const bool next_is_free = fresh || !busy.busy(order.front(), 1);
          std::optional<RDMAMemory> unit = ring.allocate();
          if (!unit) {
            REQUIRE_FALSE(next_is_free);
            REQUIRE(ring.size() == options.limit);
            break;
          }
          REQUIRE((ring.units() > units) == !next_is_free);
          REQUIRE(unit->size() == options.unit_size);
          REQUIRE(busy.hand_out(*unit));
          if (const auto old = std::find(order.begin(), order.end(), unit->data());
              old != order.end()) {
            // A known unit comes round only in its turn, and only while no unit is still unseen.
            REQUIRE(old == order.begin());
            order.erase(old);
          }
          order.push_back(unit->data());
          held.push_back(std::move(*unit));
          break;
        }
        case 1:
          if (!held.empty()) {
            std::swap(held[random.below(held.size())], held.back());
            for (std::size_t uses = random.below(3); uses > 0; --uses) {
              const dtutils::RetireTag tag = qps[random.below(qps.size())].post();
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
      REQUIRE(ring.size() <= options.limit);
    }
    REQUIRE(ring.invariant());
    REQUIRE(source.allocator.in_use() == ring.size());
  }
}
