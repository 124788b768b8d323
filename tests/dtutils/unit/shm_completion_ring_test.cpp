// SPDX-License-Identifier: MIT
// The shm device's completion ring against a reference model: random pushes, polls, deaths, voids,
// claims that are detached.
#include <chrono>
#include <deque>
#include <utility>
#include <vector>

#include "dtutils/unit/shm_ring.hpp"
#include "shm/completion.hpp"
#include "shm/segment.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace dtutils;
using namespace dtutils::shm;
using support::age;
using support::kLaps;

namespace {

constexpr std::uint64_t kOfTheDead = 999'999'999;
constexpr std::chrono::hours kForever(1);

/// A queue in a segment of its own, which begins at lap `first_lap`.
struct Ring {
  Ring(std::uint32_t depth, std::uint64_t first_lap, std::uint32_t slots_per_entry = 1)
      : lease(own, slots_per_entry * depth, sizeof(CompletionSlot)),
        queue(own.shared().completion_queues[0], 0, lease.place(), depth, {-1, 0}) {
    first = first_lap << queue.ring.shift;
    for (std::uint64_t i = 0; i < queue.ring.capacity(); ++i) {
      slot(i).word.store(slot_word(first_lap, SlotState::kEmpty));
    }
    queue.tail_hint.store(first);
    queue.head_hint.store(first);
  }
  CompletionSlot& slot(std::uint64_t position) {
    return *own.shared().slot<CompletionSlot>(queue.ring, position);
  }
  std::uint64_t lap(std::uint64_t position) const { return position >> queue.ring.shift; }

  OwnSegment own;
  RingLease lease;
  CompletionQueueView queue;
  std::uint64_t first = 0;
};

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

void poll_and_compare(Ring& ring, RingModel& model, std::size_t count) {
  std::vector<ibv_wc> polled(count);
  const std::vector<std::uint64_t> expected = model.poll(count);
  const int taken =
      poll_completions(ring.own.shared(), ring.queue, static_cast<int>(count), polled.data(),
                       model.detaches ? std::chrono::nanoseconds(0) : kForever);
  REQUIRE(taken == static_cast<int>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(polled[i].wr_id == expected[i]);
}

/// A producer that claims the next slot and goes no further. Slots that are skipped do not count in
/// the model's positions, so the place is the one that a push would take.
void claim_and_stop(Ring& ring, RingModel& model, SlotOwner owner) {
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
void publish_for_the_dead(Ring& ring, RingModel& model, SlotOwner owner) {
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
void wake_detached(Ring& ring, RingModel& model) {
  for (const Live& each : std::exchange(model.detached, {})) {
    Completion completion;
    completion.wr_id = kOfTheDead;
    REQUIRE(publish_for_the_dead(ring.own.shared(), ring.queue, ring.slot(each.id), each.owner,
                                 completion) == Push::kDone);
    model.push(kOfTheDead, each.owner, SlotState::kFull);
  }
}

void run(Ring& ring, support::Random& random, int steps, bool detaches) {
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
  Ring ring(depth, first_lap, detaches ? kSlotsPerEntry : 1);
  run(ring, random, 20'000, detaches);
}

TEST_CASE("shm_completions_behind_a_slot_that_stays_claimed_are_polled") {
  Ring ring(8, 0);
  const SlotOwner stopped{5 << 14, true};
  ring.slot(0).word.store(slot_word(0, SlotState::kClaimed, stopped.bits()));
  Completion behind;
  behind.wr_id = 7;
  REQUIRE(push_completion(ring.own.shared(), ring.queue, {1, false}, behind, nullptr) ==
          Push::kDone);
  ibv_wc polled[4];
  // The sender may be about to publish, so not at once.
  CHECK(poll_completions(ring.own.shared(), ring.queue, 4, polled, kForever) == 0);
  CHECK(has_completion(ring.own.shared(), ring.queue));
  CHECK(support::eventually(
      [&] { return poll_completions(ring.own.shared(), ring.queue, 4, polled) == 1; }));
  CHECK(polled[0].wr_id == 7);
  CHECK(slot_state(ring.slot(0).word.load()) == SlotState::kDetached);

  // Those that come later go round the ring past the slot, as often as they like.
  for (std::uint64_t i = 0; i < 40; ++i) {
    behind.wr_id = 100 + i;
    REQUIRE(push_completion(ring.own.shared(), ring.queue, {1, false}, behind, nullptr) ==
            Push::kDone);
    REQUIRE(poll_completions(ring.own.shared(), ring.queue, 4, polled) == 1);
    REQUIRE(polled[0].wr_id == 100 + i);
  }
  // It goes on in the end.
  Completion late;
  late.wr_id = 8;
  REQUIRE(publish_for_the_dead(ring.own.shared(), ring.queue, ring.slot(0), stopped, late) ==
          Push::kDone);
  REQUIRE(poll_completions(ring.own.shared(), ring.queue, 4, polled) == 1);
  CHECK(polled[0].wr_id == 8);
}

TEST_CASE("shm_completion_ring_with_words_that_nobody_wrote_ends_its_searches") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::Random random(seed);
  for (int round = 0; round < 200; ++round) {
    Ring ring(8, 0);
    for (std::uint64_t i = 0; i < 8; ++i) {
      // Each slot ahead of what a searcher comes with.
      const std::uint64_t lap = random.one_in(2) ? random.below(kLaps) : kLaps / 2 - 1 + i;
      ring.slot(i).word.store(slot_word(lap, static_cast<SlotState>(random.below(8))));
    }
    ring.queue.tail_hint.store(random.below(std::uint64_t{1} << 40));
    ring.queue.head_hint.store(random.below(std::uint64_t{1} << 40));
    ibv_wc polled[4];
    (void)push_completion(ring.own.shared(), ring.queue, {1, false}, {}, nullptr);
    (void)poll_completions(ring.own.shared(), ring.queue, 4, polled);
  }
}

TEST_CASE("shm_completion_carries_every_field") {
  Ring ring(4, 0);
  Completion pushed;
  pushed.wr_id = 0x0123456789abcdef;
  pushed.status = IBV_WC_REM_ACCESS_ERR;
  pushed.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
  pushed.length = 0xfffffffe;
  pushed.immediate = 0x89abcdef;
  pushed.qp_num = 0xfffffd;
  pushed.source_qp = 0xfffffc;
  pushed.flags = IBV_WC_WITH_IMM;
  pushed.vendor_error = 0x104;
  std::atomic<std::uint64_t> record{0};
  REQUIRE(push_completion(ring.own.shared(), ring.queue, {pushed.qp_num, true}, pushed, &record) ==
          Push::kDone);
  CHECK(record.load() == 1);
  ibv_wc polled{};
  REQUIRE(poll_completions(ring.own.shared(), ring.queue, 1, &polled) == 1);
  CHECK(polled.wr_id == pushed.wr_id);
  CHECK(polled.status == pushed.status);
  CHECK(polled.opcode == pushed.opcode);
  CHECK(polled.byte_len == pushed.length);
  CHECK(polled.imm_data == pushed.immediate);
  CHECK(polled.qp_num == pushed.qp_num);
  CHECK(polled.src_qp == pushed.source_qp);
  CHECK(polled.wc_flags == pushed.flags);
  CHECK(polled.vendor_err == pushed.vendor_error);
}

TEST_CASE("shm_completion_ring_reports_an_overrun_once_it_is_empty") {
  Ring ring(2, 0);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(push_completion(ring.own.shared(), ring.queue, {1, false}, {}, nullptr) == Push::kDone);
  }
  CHECK(push_completion(ring.own.shared(), ring.queue, {1, false}, {}, nullptr) == Push::kOverrun);
  ibv_wc polled[4];
  CHECK(poll_completions(ring.own.shared(), ring.queue, 4, polled) == 2);
  CHECK(poll_completions(ring.own.shared(), ring.queue, 4, polled) < 0);
  CHECK(push_completion(ring.own.shared(), ring.queue, {1, false}, {}, nullptr) == Push::kOverrun);
}

TEST_CASE("shm_completion_queue_takes_what_it_grants_and_no_more") {
  constexpr std::uint32_t kDepth = 4;
  const std::uint64_t first_lap = GENERATE(std::uint64_t{0}, std::uint64_t{7});
  Ring ring(kDepth, first_lap, kSlotsPerEntry);
  ibv_wc polled[kDepth];
  const auto push = [&] {
    return push_completion(ring.own.shared(), ring.queue, {1, false}, {}, nullptr);
  };
  // Wherever the queue begins in its ring, and whatever it knows of the polls.
  for (int round = 0; round < 11; ++round) {
    for (std::uint32_t i = 0; i < kDepth; ++i) REQUIRE(push() == Push::kDone);
    REQUIRE(poll_completions(ring.own.shared(), ring.queue, 3, polled) == 3);
    REQUIRE(poll_completions(ring.own.shared(), ring.queue, 3, polled) == 1);
    REQUIRE(push() == Push::kDone);
    REQUIRE(poll_completions(ring.own.shared(), ring.queue, 3, polled) == 1);
  }
  for (std::uint32_t i = 0; i < kDepth; ++i) REQUIRE(push() == Push::kDone);
  CHECK(push() == Push::kOverrun);
  CHECK(poll_completions(ring.own.shared(), ring.queue, kDepth, polled) == kDepth);
  CHECK(poll_completions(ring.own.shared(), ring.queue, 1, polled) < 0);
}
