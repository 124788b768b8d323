// SPDX-License-Identifier: MIT
// The shm device's completion ring against a reference model: random pushes, polls, deaths, voids,
// claims that are detached.
#include <chrono>
#include <deque>
#include <utility>
#include <vector>

#include "dtutils/unit/completion_ring.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using namespace dtutils;
using namespace dtutils::shm;
using support::age;
using support::CompletionRing;
using support::kLaps;

namespace {

constexpr std::uint64_t kOfTheDead = 999'999'999;
/// Claims stay where they are.
constexpr std::chrono::hours kNoDetaching(1);

struct Live {
  std::uint64_t position;
  std::uint64_t id;
  SlotOwner owner;
  SlotState state;
};

/// What the ring should do, one call at a time.
struct RingModel {
  RingModel(std::uint64_t first, bool detaching) : tail(first), detaches(detaching) {}

  bool make_room(std::size_t capacity) {
    if (live.size() < capacity) return true;
    if (live.front().state != SlotState::kVoid) return false;
    live.pop_front();
    return true;
  }
  void push(std::uint64_t id, SlotOwner owner, SlotState state) {
    live.push_back({tail++, id, owner, state});
  }
  std::vector<std::uint64_t> poll(std::size_t count) {
    std::vector<std::uint64_t> ids;
    while (ids.size() < count && !live.empty()) {
      if (live.front().state == SlotState::kClaimed) {
        if (!detaches) break;
        detached.push_back(live.front());
      }
      if (live.front().state == SlotState::kFull) ids.push_back(live.front().id);
      live.pop_front();
    }
    return ids;
  }
  std::size_t outstanding() const { return live.size() + detached.size(); }
  int make_void(std::uint32_t qp_num) {
    int count = 0;
    for (Live& each : live) {
      if (each.owner.qp_num != qp_num || each.state != SlotState::kFull) continue;
      each.state = SlotState::kVoid;
      ++count;
    }
    return count;
  }

  std::uint64_t tail;
  /// Whether polls pass claimed slots.
  const bool detaches;
  std::deque<Live> live;
  std::vector<Live> detached;
};

SlotOwner random_owner(support::Random& random) {
  return {static_cast<std::uint32_t>(1 + random.below(3)) << 14, random.one_in(2)};
}

void poll_and_compare(CompletionRing& ring, RingModel& model, std::size_t count) {
  std::vector<ibv_wc> polled(count);
  const std::vector<std::uint64_t> expected = model.poll(count);
  const int taken =
      poll_completions(ring.own.shared(), ring.queue, static_cast<int>(count), polled.data(),
                       model.detaches ? std::chrono::nanoseconds(0) : kNoDetaching);
  REQUIRE(taken == static_cast<int>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(polled[i].wr_id == expected[i]);
}

/// A producer that claims the next slot and goes no further. Slots that are skipped do not count in
/// the model's positions, so the place is the one that a push would take.
void claim_and_stop(CompletionRing& ring, RingModel& model, SlotOwner owner) {
  Completion completion;
  completion.wr_id = kOfTheDead;
  std::atomic<std::uint64_t> record{0};
  REQUIRE(push_completion(ring.own.shared(), ring.queue, owner, completion, &record) ==
          Push::kDone);
  const std::uint64_t position = record.load() - 1;
  std::atomic<std::uint64_t>& word = ring.slot(position).word;
  word.store(with_state(word.load(), SlotState::kClaimed));
  model.push(position, owner, SlotState::kClaimed);
}

/// The owner completes what a dead producer had claimed.
void publish_for_the_dead(CompletionRing& ring, RingModel& model, SlotOwner owner) {
  std::size_t published = 0;
  for_each_slot(ring.own.shared(), ring.queue, owner, SlotState::kClaimed,
                [&](CompletionSlot& slot, std::uint64_t) {
                  Completion completion;
                  completion.wr_id = kOfTheDead;
                  REQUIRE(publish_for_the_dead(ring.own.shared(), ring.queue, slot, owner,
                                               completion) == Push::kDone);
                  ++published;
                });
  for (Live& each : model.live) {
    if (each.owner.bits() != owner.bits() || each.state != SlotState::kClaimed) continue;
    each.state = SlotState::kFull;
    each.id = kOfTheDead;
    --published;
  }
  REQUIRE(published == 0);
}

/// Producers whose claims were detached go on: each frees its slot and pushes its completion anew.
void wake_detached(CompletionRing& ring, RingModel& model) {
  for (const Live& each : std::exchange(model.detached, {})) {
    Completion completion;
    completion.wr_id = kOfTheDead;
    REQUIRE(publish_for_the_dead(ring.own.shared(), ring.queue, ring.slot(each.id), each.owner,
                                 completion) == Push::kDone);
    model.push(kOfTheDead, each.owner, SlotState::kFull);
  }
}

void run(CompletionRing& ring, support::Random& random, int steps, bool detaches) {
  RingModel model(ring.first, detaches);
  const std::uint64_t capacity = ring.queue.depth;
  std::uint64_t next_id = 1;
  while (steps-- > 0) {
    if (random.one_in(8)) age(ring.queue.tail_hint, ring.first, random);
    if (random.one_in(8)) age(ring.queue.head_hint, ring.first, random);
    const SlotOwner owner = random_owner(random);
    switch (random.below(12)) {
      case 0:
        if (model.outstanding() < capacity) claim_and_stop(ring, model, owner);
        break;
      case 1: {
        if (random.one_in(2)) {
          REQUIRE(void_completions(ring.own.shared(), ring.queue, owner.qp_num) ==
                  model.make_void(owner.qp_num));
        } else {
          publish_for_the_dead(ring, model, owner);
        }
        break;
      }
      case 2:
      case 3:
      case 4:
      case 5:
        poll_and_compare(ring, model, 1 + random.below(4));
        break;
      default: {
        if (detaches && random.one_in(4)) wake_detached(ring, model);
        if (detaches && model.outstanding() == capacity) break;
        Completion completion;
        completion.wr_id = next_id;
        const bool room = model.make_room(capacity);
        const Push pushed =
            push_completion(ring.own.shared(), ring.queue, owner, completion, nullptr);
        REQUIRE(pushed == (room ? Push::kDone : Push::kOverrun));
        if (room) model.push(next_id++, owner, SlotState::kFull);
        ring.queue.overrun.store(0);
      }
    }
  }
}

}  // namespace

TEST_CASE("shm_completion_ring_does_as_its_model") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::Random random(seed);
  const std::uint32_t depth = GENERATE(1u, 2u, 8u, 64u);
  const std::uint64_t first_lap = GENERATE(std::uint64_t{0}, kLaps - 2, kLaps * 5 - 1);
  const bool detaches = GENERATE(false, true);
  CAPTURE(depth, first_lap, detaches);
  CompletionRing ring(depth, first_lap, detaches ? kSlotsPerEntry : 1);
  run(ring, random, 20'000, detaches);
}
