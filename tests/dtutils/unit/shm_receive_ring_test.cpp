// SPDX-License-Identifier: MIT
// The shm device's receive ring against a reference model: posts, takes, deaths, recoveries.
#include <deque>
#include <optional>
#include <vector>

#include "dtutils/unit/shm_ring.hpp"
#include "shm/completion.hpp"
#include "shm/outstanding_receives.hpp"
#include "shm/receive.hpp"
#include "shm/segment.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using namespace dtutils;
using namespace dtutils::shm;
using support::age;
using support::kLaps;

namespace {

constexpr std::uint32_t kSenders = 3;

struct Rings {
  /// Shared when it has a depth.
  Rings(std::uint32_t slots, std::uint64_t first_lap, std::uint32_t depth = 0)
      : receive_lease(own, slots, sizeof(ReceiveSlot) + 2 * sizeof(ReceiveSlot::Element)),
        completion_lease(own, 64, sizeof(CompletionSlot)),
        queue(segment.receive_queues[0], receive_lease.place(), 2, 0, depth != 0) {
    if (depth != 0) outstanding.emplace(queue.ring, depth);
    first = first_lap << queue.ring.shift;
    for (std::uint64_t i = 0; i < queue.ring.capacity(); ++i) {
      segment.slot<ReceiveSlot>(queue.ring, i)->word.store(slot_word(first_lap, SlotState::kEmpty));
    }
    queue.tail_hint.store(first);
    queue.head_hint.store(first);
    for (std::uint32_t i = 0; i < kSenders; ++i) {
      segment.queue_pairs[i].qp_num.store((1u << kIndexBits) | i);
    }
  }
  bool post(std::uint64_t id) {
    ibv_sge elements[] = {{id * 16, static_cast<std::uint32_t>(id % 100), 7},
                          {id * 32, static_cast<std::uint32_t>(id % 10), 8}};
    ibv_recv_wr request{};
    request.wr_id = id;
    request.sg_list = elements;
    request.num_sge = static_cast<int>(id % 3);
    const auto position = push_receive(segment, queue, request);
    if (position && outstanding) outstanding->add(segment, *position);
    return position.has_value();
  }
  /// As the post of a shared receive queue.
  bool post_counted(std::uint64_t id) { return outstanding->has_room(segment) && post(id); }
  /// A sender wins the oldest receive and is stopped then.
  std::atomic<std::uint64_t>& take_and_stop() {
    for (std::uint64_t position = first;; ++position) {
      auto& word = segment.slot<ReceiveSlot>(queue.ring, position)->word;
      if (word.load() != slot_word(position >> queue.ring.shift, SlotState::kFull)) continue;
      word.store(slot_word(position >> queue.ring.shift, SlotState::kTaken,
                           SlotOwner{0xffffff, true}.bits()));
      return word;
    }
  }
  /// The id of the receive that was lost, if one was; completes it if a completion was claimed.
  std::optional<std::uint64_t> recover(std::uint32_t sender) {
    LostReceive lost;
    if (!recover_receive(segment, queue, completions, segment.queue_pairs[sender], lost)) {
      return std::nullopt;
    }
    Completion completion;
    completion.wr_id = lost.wr_id;
    if (lost.claimed != nullptr) {
      publish_for_the_dead(segment, completions, *lost.claimed, {1, false}, completion);
    }
    return lost.wr_id;
  }

  OwnSegment own;
  RingLease receive_lease;
  RingLease completion_lease;
  ControlSegment& segment = own.shared();
  ReceiveQueueView queue;
  std::optional<OutstandingReceives> outstanding;
  CompletionQueueView completions{segment.completion_queues[0],
                                  0,
                                  completion_lease.place(),
                                  granted_completions(completion_lease.place()),
                                  {-1, 0}};
  std::uint64_t first = 0;
};

bool is_as_posted(const Receive& receive) {
  const std::uint64_t id = receive.wr_id;
  const auto one = [&](std::size_t i, std::uint64_t address, std::uint64_t length,
                       std::uint32_t key) {
    const ibv_sge& sge = receive.elements[i];
    return sge.addr == address && sge.length == length && sge.lkey == key;
  };
  return receive.sge_count == id % 3 && (id % 3 < 1 || one(0, id * 16, id % 100, 7)) &&
         (id % 3 < 2 || one(1, id * 32, id % 10, 8));
}

/// One sender's or the owner's take, compared with the model.
void take_and_compare(Rings& rings, std::deque<std::uint64_t>& posted, std::uint32_t sender) {
  Receive receive;
  QueuePairEntry& entry = rings.segment.queue_pairs[sender % kSenders];
  const bool taken = sender == kSenders ? withdraw_receive(rings.segment, rings.queue,
                                                           entry.qp_num.load(), receive)
                                        : take_receive(rings.segment, rings.queue, entry, receive);
  REQUIRE(taken == !posted.empty());
  if (!taken) return;
  REQUIRE(receive.wr_id == posted.front());
  REQUIRE(is_as_posted(receive));
  posted.pop_front();
  if (sender == kSenders) return;
  // A sender that dies now loses the receive; one that finished does not.
  if (receive.wr_id % 5 == 0) {
    REQUIRE(rings.recover(sender) == receive.wr_id);
  }
  finish_receive(entry);
  REQUIRE(rings.recover(sender) == std::nullopt);
}

}  // namespace

TEST_CASE("shm_receive_ring_does_as_its_model") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::Random random(seed);
  const std::uint32_t slots = GENERATE(1u, 2u, 8u, 64u);
  const std::uint64_t first_lap = GENERATE(std::uint64_t{0}, kLaps - 2, kLaps * 3 - 1);
  CAPTURE(slots, first_lap);
  Rings rings(slots, first_lap);
  std::deque<std::uint64_t> posted;
  std::uint64_t next_id = 1;
  for (int steps = 20'000; steps > 0; --steps) {
    if (random.one_in(8)) age(rings.queue.tail_hint, rings.first, random);
    if (random.one_in(8)) age(rings.queue.head_hint, rings.first, random);
    if (random.one_in(2)) {
      const bool room = posted.size() < rings.queue.ring.capacity();
      REQUIRE(rings.post(next_id) == room);
      if (room) posted.push_back(next_id++);
    } else {
      take_and_compare(rings, posted, static_cast<std::uint32_t>(random.below(kSenders + 1)));
    }
  }
}

TEST_CASE("shm_receive_that_a_dead_sender_holds_in_its_slot_is_recovered_once") {
  Rings rings(2, 0);
  REQUIRE(rings.post(10));
  REQUIRE(rings.post(11));
  const SlotOwner dead{rings.segment.queue_pairs[0].qp_num.load(), true};
  auto& word = rings.segment.slot<ReceiveSlot>(rings.queue.ring, 0)->word;
  word.store(slot_word(0, SlotState::kTaken, dead.bits()));

  CHECK_FALSE(rings.post(12));
  CHECK(rings.recover(1) == std::nullopt);
  CHECK(rings.recover(0) == 10);
  CHECK(rings.recover(0) == std::nullopt);
  CHECK(rings.post(12));
  Receive receive;
  REQUIRE(take_receive(rings.segment, rings.queue, rings.segment.queue_pairs[1], receive));
  CHECK(receive.wr_id == 11);
}

TEST_CASE("shm_shared_receive_ring_takes_its_depth_whatever_senders_hold_for_how_long") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::Random random(seed);
  const std::uint32_t depth = GENERATE(1u, 2u, 3u, 4u, 8u, 13u);
  const std::uint64_t first_lap = GENERATE(std::uint64_t{0}, kLaps - 2);
  CAPTURE(depth, first_lap);
  Rings rings(2 * depth, first_lap, depth);
  std::deque<std::uint64_t> posted;
  std::vector<std::atomic<std::uint64_t>*> held;
  std::uint64_t next_id = 1;
  for (int steps = 20'000; steps > 0; --steps) {
    if (random.one_in(8)) age(rings.queue.tail_hint, rings.first, random);
    if (random.one_in(8)) age(rings.queue.head_hint, rings.first, random);
    if (random.one_in(2)) {
      const bool room = posted.size() + held.size() < depth;
      REQUIRE(rings.post_counted(next_id) == room);
      if (room) posted.push_back(next_id++);
    } else if (!held.empty() && random.one_in(4)) {
      // A sender that was stopped goes on and gives its slot back.
      const auto at = held.begin() + static_cast<std::ptrdiff_t>(random.below(held.size()));
      (*at)->fetch_add(freeing((*at)->load()));
      held.erase(at);
    } else if (!posted.empty() && random.one_in(4)) {
      held.push_back(&rings.take_and_stop());
      posted.pop_front();
    } else {
      take_and_compare(rings, posted, static_cast<std::uint32_t>(random.below(kSenders + 1)));
    }
  }
}

TEST_CASE("shm_receive_that_the_owner_withdraws_is_not_a_dead_senders") {
  Rings rings(2, 0);
  REQUIRE(rings.post(10));
  const SlotOwner owner{rings.segment.queue_pairs[0].qp_num.load(), false};
  auto& word = rings.segment.slot<ReceiveSlot>(rings.queue.ring, 0)->word;
  word.store(slot_word(0, SlotState::kTaken, owner.bits()));
  CHECK(rings.recover(0) == std::nullopt);
  CHECK(word.load() == slot_word(0, SlotState::kTaken, owner.bits()));
}

TEST_CASE("shm_completion_that_a_dead_sender_claimed_is_made_by_the_owner_in_its_place") {
  Rings rings(4, 0);
  REQUIRE(rings.post(10));
  QueuePairEntry& entry = rings.segment.queue_pairs[0];
  Receive receive;
  REQUIRE(take_receive(rings.segment, rings.queue, entry, receive));
  const SlotOwner dead{entry.qp_num.load(), true};
  rings.segment.slot<CompletionSlot>(rings.completions.ring, 0)
      ->word.store(slot_word(0, SlotState::kClaimed, dead.bits()));
  // Whether it had noted the position or not.
  entry.in_flight_completion.store(GENERATE(0u, 1u));
  Completion behind;
  behind.wr_id = 99;
  REQUIRE(push_completion(rings.segment, rings.completions, {5, false}, behind, nullptr) ==
          Push::kDone);
  // Its claim may have been detached.
  const bool detached = GENERATE(false, true);
  ibv_wc polled[3];
  REQUIRE(poll_completions(rings.segment, rings.completions, 3, polled,
                           detached ? std::chrono::hours(0) : std::chrono::hours(1)) ==
          (detached ? 1 : 0));
  if (detached) CHECK(polled[0].wr_id == 99);

  CHECK(rings.recover(0) == 10);
  CHECK(rings.recover(0) == std::nullopt);
  REQUIRE(poll_completions(rings.segment, rings.completions, 3, polled) == (detached ? 1 : 2));
  CHECK(polled[0].wr_id == 10);
  if (!detached) CHECK(polled[1].wr_id == 99);
}

TEST_CASE("shm_completion_whose_sender_died_between_giving_its_detached_slot_back_and_the_next") {
  Rings rings(4, 0);
  REQUIRE(rings.post(10));
  QueuePairEntry& entry = rings.segment.queue_pairs[0];
  Receive receive;
  REQUIRE(take_receive(rings.segment, rings.queue, entry, receive));
  auto& word = rings.segment.slot<CompletionSlot>(rings.completions.ring, 0)->word;
  word.store(slot_word(0, SlotState::kClaimed, SlotOwner{entry.qp_num.load(), true}.bits()));
  entry.in_flight_completion.store(1);
  ibv_wc polled{};
  REQUIRE(poll_completions(rings.segment, rings.completions, 1, &polled, {}) == 0);
  REQUIRE(slot_state(word.load()) == SlotState::kDetached);
  // push_completion takes the note back first.
  entry.in_flight_completion.store(0);
  word.fetch_add(freeing(word.load()));
  CHECK(rings.recover(0) == 10);
}

TEST_CASE("shm_receive_whose_completion_the_dead_sender_published_is_not_lost") {
  Rings rings(4, 0);
  REQUIRE(rings.post(10));
  QueuePairEntry& entry = rings.segment.queue_pairs[0];
  Receive receive;
  REQUIRE(take_receive(rings.segment, rings.queue, entry, receive));
  Completion completion;
  completion.wr_id = receive.wr_id;
  REQUIRE(push_completion(rings.segment, rings.completions, {entry.qp_num.load(), true}, completion,
                          &entry.in_flight_completion) == Push::kDone);
  // Died before finish_receive; the owner may have polled it or not.
  ibv_wc polled{};
  if (GENERATE(false, true)) {
    REQUIRE(poll_completions(rings.segment, rings.completions, 1, &polled) == 1);
  }
  CHECK(rings.recover(0) == std::nullopt);
}
