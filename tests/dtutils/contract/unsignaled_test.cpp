// SPDX-License-Identifier: MIT
// Unsignaled requests: silent when they succeed, covered by the next completion, loud when they
// fail.
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

TEST_CASE("unsignaled_requests_give_no_completion") {
  Pair pair;
  for (std::uint64_t i = 0; i < 20; ++i) {
    pair.a.at<std::uint64_t>(8 * i) = i + 1;
    must(pair.a.qp.post_write(pair.a.local(8 * i, 8), pair.b.remote(8 * i, 8), i, kUnsignaled));
  }
  CHECK(stays_empty(pair.a.sends));
}

TEST_CASE("completion_of_a_signaled_request_covers_the_unsignaled_ones_before_it") {
  Pair pair;
  for (std::uint64_t round = 0; round < 20; ++round) {
    constexpr std::uint64_t kBatch = 100;
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      pair.a.at<std::uint64_t>(8 * i) = round * 1000 + i;
      must(pair.a.qp.post_write(pair.a.local(8 * i, 8), pair.b.remote(8 * i, 8), i,
                                i + 1 == kBatch ? kSignaled : kUnsignaled));
    }
    success(pair.a.sends, kBatch - 1);
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      CHECK(pair.b.at<std::uint64_t>(8 * i) == round * 1000 + i);
    }
  }
  CHECK(stays_empty(pair.a.sends));
}

TEST_CASE("failure_of_an_unsignaled_request_is_reported") {
  Pair pair;
  RemoteMemoryLocator wrong = pair.b.remote(0, 8);
  wrong.rkey ^= 0x5555;
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 1, kUnsignaled));
  must(pair.a.qp.post_write(pair.a.local(0, 8), wrong, 2, kUnsignaled));
  CHECK(failure(pair.a.sends, 2).status == IBV_WC_REM_ACCESS_ERR);
}

TEST_CASE("wait_says_at_once_that_nothing_signaled_is_outstanding") {
  Pair pair;
  ibv_wc completion{};
  CHECK(pair.a.qp.wait(completion, kPatience) == QueuePair::Wait::kNothingSignaled);
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 1, kUnsignaled));
  CHECK(pair.a.qp.wait(completion, kPatience) == QueuePair::Wait::kNothingSignaled);
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 2, kSignaled));
  CHECK(pair.a.qp.wait(completion, kPatience) == QueuePair::Wait::kCompleted);
  CHECK(completion.wr_id == 2);
  CHECK(pair.a.qp.wait(completion, kPatience) == QueuePair::Wait::kNothingSignaled);
}
