// SPDX-License-Identifier: MIT
// The shm device's completion ring: fields, overruns, claims that are detached, words that nobody
// wrote.
#include <chrono>
#include <cstdint>

#include "dtutils/unit/completion_ring.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace dtutils;
using namespace dtutils::shm;
using support::CompletionRing;
using support::kLaps;

namespace {

constexpr std::chrono::hours kForever(1);

}  // namespace

TEST_CASE("shm_completions_behind_a_slot_that_stays_claimed_are_polled") {
  CompletionRing ring(8, 0);
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
    CompletionRing ring(8, 0);
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
  CompletionRing ring(4, 0);
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
  CompletionRing ring(2, 0);
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
  CompletionRing ring(kDepth, first_lap, kSlotsPerEntry);
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
