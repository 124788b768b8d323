// SPDX-License-Identifier: MIT
// The shm device's rings under many threads: nothing lost, nothing doubled, order kept.
#include <algorithm>
#include <atomic>
#include <vector>

#include "dtutils/wait.hpp"
#include "shm/completion.hpp"
#include "shm/receive.hpp"
#include "shm/segment.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"
#include "support/threads.hpp"

using namespace dtutils;
using namespace dtutils::shm;
using support::require;

namespace {

const auto kEach = static_cast<std::uint64_t>(support::rounds(30'000));
constexpr std::uint64_t kProducers = 3;
const std::uint64_t kTotal = kEach * kProducers;

/// Counts that every id arrives once.
class Arrivals {
 public:
  void note(std::uint64_t id) {
    require(id < kTotal, "an id that nobody sent has arrived");
    require(arrived_[id].fetch_add(1) == 0, "an id has arrived twice");
    count_.fetch_add(1);
  }
  bool complete() const { return count_.load() == kTotal; }

 private:
  std::vector<std::atomic<int>> arrived_ = std::vector<std::atomic<int>>(kTotal);
  std::atomic<std::uint64_t> count_{0};
};

/// Waits, not forever, until `condition` holds.
template <class Condition>
void await(Condition condition) {
  Deadline deadline(support::kPatience);
  Backoff backoff;
  while (!condition()) {
    require(!deadline.passed(), "nothing moves any more");
    backoff.pause();
  }
}

/// A permission to have one more outstanding.
bool try_take(std::atomic<int>& credits) {
  if (credits.fetch_sub(1) > 0) return true;
  credits.fetch_add(1);
  return false;
}

void push_all(OwnSegment& own, const CompletionQueueView& queue, std::atomic<int>& credits,
              std::uint64_t producer) {
  for (std::uint64_t i = 0; i < kEach; ++i) {
    await([&] { return try_take(credits); });
    Completion completion;
    completion.wr_id = producer * kEach + i;
    completion.length = static_cast<std::uint32_t>(completion.wr_id * 3);
    const SlotOwner owner{static_cast<std::uint32_t>(producer + 1), false};
    require(push_completion(own.shared(), queue, owner, completion, nullptr) == Push::kDone,
            "a ring with room has overflowed");
  }
}

void poll_all(OwnSegment& own, const CompletionQueueView& queue, std::atomic<int>& credits,
              Arrivals& arrivals, bool alone) {
  std::vector<std::uint64_t> next(kProducers);
  std::chrono::nanoseconds patience{0};
  ibv_wc polled[4];
  while (!arrivals.complete()) {
    int count = 0;
    await([&] {
      // Half of the polls detach the claims that they meet.
      patience = kClaimPatience - patience;
      count = poll_completions(own.shared(), queue, 4, polled, patience);
      return count != 0 || arrivals.complete();
    });
    require(count >= 0, "a ring with room has overflowed");
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = polled[i].wr_id;
      arrivals.note(id);
      require(polled[i].byte_len == static_cast<std::uint32_t>(id * 3), "fields are mixed up");
      if (alone) require(next[id / kEach]++ == id % kEach, "the order of a producer is lost");
      credits.fetch_add(1);
    }
  }
}

}  // namespace

TEST_CASE("shm_completion_ring_loses_nothing_among_threads") {
  const int consumers = GENERATE(1, 3);
  const std::uint32_t slots = GENERATE(1u, 8u);
  CAPTURE(consumers, slots);
  OwnSegment own;
  const RingLease ring(own, kSlotsPerEntry * slots, sizeof(CompletionSlot));
  const CompletionQueueView queue(own.shared().completion_queues[0], 0, ring.place(),
                                  granted_completions(ring.place()), {-1, 0});
  std::atomic<int> credits{static_cast<int>(slots)};
  Arrivals arrivals;
  support::Threads threads;
  for (std::uint64_t i = 0; i < kProducers; ++i)
    threads.start([&, i] { push_all(own, queue, credits, i); });
  for (int i = 0; i < consumers; ++i) {
    threads.start([&] { poll_all(own, queue, credits, arrivals, consumers == 1); });
  }
  threads.join();
  CHECK(arrivals.complete());
}

TEST_CASE("shm_receive_ring_loses_nothing_among_threads") {
  const std::uint32_t slots = GENERATE(1u, 8u);
  CAPTURE(slots);
  OwnSegment own;
  ControlSegment& segment = own.shared();
  const RingLease ring(own, slots, receive_slot_size(1));
  const ReceiveQueueView queue(segment.receive_queues[0], ring.place(), 1, 0, false);
  Arrivals arrivals;
  support::Threads threads;
  for (std::uint64_t producer = 0; producer < kProducers; ++producer) {
    threads.start([&, producer] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        ibv_sge element{i, 8, 1};
        ibv_recv_wr request{};
        request.wr_id = producer * kEach + i;
        request.sg_list = &element;
        request.num_sge = 1;
        await([&] { return push_receive(segment, queue, request).has_value(); });
      }
    });
  }
  // Two senders, and the owner that takes some back.
  for (std::uint32_t taker = 0; taker < 3; ++taker) {
    threads.start([&, taker] {
      QueuePairEntry& entry = segment.queue_pairs[taker];
      entry.qp_num.store(taker + 1);
      Receive receive;
      const auto take = [&] {
        return taker == 2 ? withdraw_receive(segment, queue, taker + 1, receive)
                          : take_receive(segment, queue, entry, receive);
      };
      while (!arrivals.complete()) {
        await([&] { return arrivals.complete() || take(); });
        if (arrivals.complete()) break;
        require(receive.elements[0].addr == receive.wr_id % kEach, "fields are mixed up");
        arrivals.note(receive.wr_id);
        finish_receive(entry);
      }
    });
  }
  threads.join();
  CHECK(arrivals.complete());
}
