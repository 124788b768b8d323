// SPDX-License-Identifier: MIT
// Compare-and-swap and fetch-and-add: right results, old values back, nothing lost among many.
#include <algorithm>
#include <atomic>
#include <vector>

#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"
#include "support/threads.hpp"

using namespace dtutils;
using namespace support;

namespace {

constexpr std::size_t kWord = 512;

bool skipped_without_atomics(const Device& device) {
  if (device.info().atomics) return false;
  WARN("SKIPPED: this device offers no atomics");
  return true;
}

}  // namespace

TEST_CASE("compare_and_swap_swaps_only_what_it_expects") {
  Pair pair;
  if (skipped_without_atomics(*pair.device)) return;
  std::uint64_t& target = pair.b.at<std::uint64_t>(kWord);
  target = 0x1122334455667788;
  must(pair.a.qp.post_compare_and_swap(pair.a.local(0, 8), pair.b.remote(kWord, 8),
                                       0x1122334455667788, 42, 1, kSignaled));
  const ibv_wc swapped = success(pair.a.sends, 1);
  CHECK(swapped.opcode == IBV_WC_COMP_SWAP);
  CHECK(swapped.byte_len == 8);
  CHECK(pair.a.at<std::uint64_t>(0) == 0x1122334455667788);
  CHECK(target == 42);

  must(pair.a.qp.post_compare_and_swap(pair.a.local(8, 8), pair.b.remote(kWord, 8), 41, 99, 2,
                                       kSignaled));
  success(pair.a.sends, 2);
  CHECK(pair.a.at<std::uint64_t>(8) == 42);
  CHECK(target == 42);
  CHECK(pair.b.at<std::uint64_t>(kWord - 8) == 0);
  CHECK(pair.b.at<std::uint64_t>(kWord + 8) == 0);
}

TEST_CASE("fetch_and_add_adds_and_wraps_round") {
  Pair pair;
  if (skipped_without_atomics(*pair.device)) return;
  std::uint64_t& target = pair.b.at<std::uint64_t>(kWord);
  target = ~std::uint64_t{0} - 1;
  must(pair.a.qp.post_fetch_and_add(pair.a.local(0, 8), pair.b.remote(kWord, 8), 5, 1, kSignaled));
  const ibv_wc added = success(pair.a.sends, 1);
  CHECK(added.opcode == IBV_WC_FETCH_ADD);
  CHECK(added.byte_len == 8);
  CHECK(pair.a.at<std::uint64_t>(0) == ~std::uint64_t{0} - 1);
  CHECK(target == 3);
  must(pair.a.qp.post_fetch_and_add(pair.a.local(0, 8), pair.b.remote(kWord, 8), 0, 2, kSignaled));
  success(pair.a.sends, 2);
  CHECK(pair.a.at<std::uint64_t>(0) == 3);
}

TEST_CASE("many_atomics_may_be_outstanding") {
  Pair pair;
  if (skipped_without_atomics(*pair.device)) return;
  constexpr std::uint64_t kCount = 4 * kReadDepth;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    must(pair.a.qp.post_fetch_and_add(pair.a.local(8 * i, 8), pair.b.remote(kWord, 8), 1, i,
                                      kSignaled));
  }
  for (std::uint64_t i = 0; i < kCount; ++i) {
    success(pair.a.sends, i);
    CHECK(pair.a.at<std::uint64_t>(8 * i) == i);
  }
}

TEST_CASE("fetch_and_adds_of_many_threads_sum_up") {
  const auto device = open_device_under_test();
  if (skipped_without_atomics(*device)) return;
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kRounds = 250;
  Side target(*device);
  std::vector<std::unique_ptr<Side>> sides;
  std::vector<std::unique_ptr<QueuePair>> ends;
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    sides.push_back(std::make_unique<Side>(*device));
    ends.push_back(std::make_unique<QueuePair>(target.pd, target.sends, target.receives));
    connect(sides[i]->qp, *ends[i]);
  }
  std::vector<std::uint64_t> seen(kThreads * kRounds);
  Threads threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.start([&, t] {
      Side& side = *sides[t];
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        must(
            side.qp.post_fetch_and_add(side.local(0, 8), target.remote(kWord, 8), 1, i, kSignaled));
        success(side.sends, i);
        seen[t * kRounds + i] = side.at<std::uint64_t>(0);
      }
    });
  }
  threads.join();
  CHECK(target.at<std::uint64_t>(kWord) == kThreads * kRounds);
  std::ranges::sort(seen);
  bool each_once = true;
  for (std::uint64_t i = 0; i < seen.size(); ++i) each_once = each_once && seen[i] == i;
  CHECK(each_once);
}

TEST_CASE("compare_and_swap_of_two_threads_makes_a_lock") {
  const auto device = open_device_under_test();
  if (skipped_without_atomics(*device)) return;
  constexpr std::uint64_t kThreads = 2;
  constexpr std::uint64_t kRounds = 50;
  Side target(*device);
  std::uint64_t guarded = 0;
  std::vector<std::unique_ptr<Side>> sides;
  std::vector<std::unique_ptr<QueuePair>> ends;
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    sides.push_back(std::make_unique<Side>(*device));
    ends.push_back(std::make_unique<QueuePair>(target.pd, target.sends, target.receives));
    connect(sides[i]->qp, *ends[i]);
  }
  std::atomic<int> inside{0};
  Threads threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.start([&, t] {
      Side& side = *sides[t];
      const auto swap = [&](std::uint64_t expected, std::uint64_t desired) {
        must(side.qp.post_compare_and_swap(side.local(0, 8), target.remote(kWord, 8), expected,
                                           desired, 1, kSignaled));
        success(side.sends, 1);
        return side.at<std::uint64_t>(0) == expected;
      };
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        require(eventually([&] { return swap(0, t + 1); }), "the lock was never free");
        require(inside.fetch_add(1) == 0, "two threads hold the lock");
        ++guarded;
        inside.fetch_sub(1);
        require(swap(t + 1, 0), "the lock was taken from its holder");
      }
    });
  }
  threads.join();
  CHECK(guarded == kThreads * kRounds);
}

TEST_CASE("remote_atomics_are_atomic_against_the_cpu_where_the_device_says_so") {
  Pair pair;
  if (!pair.device->info().atomics_with_cpu) {
    WARN("SKIPPED: this device's atomics are not atomic against the CPU");
    return;
  }
  constexpr std::uint64_t kRounds = 2000;
  std::atomic_ref<std::uint64_t> word(pair.b.at<std::uint64_t>(kWord));
  dtutils::JoinableThread cpu([&] {
    for (std::uint64_t i = 0; i < kRounds; ++i) word.fetch_add(1'000'000);
  });
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    must(
        pair.a.qp.post_fetch_and_add(pair.a.local(0, 8), pair.b.remote(kWord, 8), 1, i, kSignaled));
    success(pair.a.sends, i);
  }
  cpu.join();
  CHECK(word.load() == kRounds * 1'000'001);
}

TEST_CASE("misaligned_atomic_is_refused_and_changes_nothing") {
  Pair pair;
  if (skipped_without_atomics(*pair.device)) return;
  const PostResult answer = pair.a.qp.post_fetch_and_add(
      pair.a.local(0, 8), pair.b.remote(kWord + 4, 8), 1, 1, kSignaled);
  // Soft-RoCE refuses the post itself.
  if (answer == PostResult::kOk) {
    const ibv_wc refused = failure(pair.a.sends, 1);
    INFO(describe(refused));
    CHECK((refused.status == IBV_WC_REM_INV_REQ_ERR || refused.status == IBV_WC_REM_ACCESS_ERR));
  } else {
    CHECK(answer == PostResult::kInvalid);
  }
  CHECK(all_bytes(pair.b.bytes(), 0));
}

TEST_CASE("atomic_whose_answer_finds_no_room_is_the_fault_of_the_requester") {
  Pair pair;
  if (skipped_without_atomics(*pair.device)) return;
  const PostResult answer =
      pair.a.qp.post_fetch_and_add(pair.a.local(0, 4), pair.b.remote(kWord, 8), 1, 1, kSignaled);
  // Soft-RoCE refuses the post itself.
  if (answer == PostResult::kOk) {
    CHECK(failure(pair.a.sends, 1).status == IBV_WC_LOC_LEN_ERR);
  } else {
    CHECK(answer == PostResult::kInvalid);
  }
  CHECK(pair.b.at<std::uint64_t>(kWord) == 0);
}
