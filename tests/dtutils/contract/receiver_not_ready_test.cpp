// SPDX-License-Identifier: MIT
// Receiver not ready: a send without a receive waits, or fails after a finite number of tries.
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

SideOptions with_tries(std::uint8_t rnr_retry) {
  SideOptions options;
  options.queue_pair.rnr_retry = rnr_retry;
  return options;
}

}  // namespace

TEST_CASE("send_waits_for_ever_for_a_receive_by_default") {
  Pair pair;
  pair.a.at<std::uint64_t>(0) = 12;
  must(pair.a.qp.post_send(pair.a.local(0, 8), 1, kSignaled));
  CHECK(stays_empty(pair.a.sends, std::chrono::milliseconds(300)));
  CHECK(pair.a.qp.state() == IBV_QPS_RTS);
  must(pair.b.qp.post_receive(pair.b.local(0, 8), 2));
  success(pair.b.receives, 2);
  success(pair.a.sends, 1);
  CHECK(pair.b.at<std::uint64_t>(0) == 12);
}

TEST_CASE("requests_behind_a_waiting_send_wait_too_and_keep_their_order") {
  Pair pair;
  pair.a.at<std::uint64_t>(0) = 1;
  must(pair.a.qp.post_send(pair.a.local(0, 8), 1, kSignaled));
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(64, 8), 2, kSignaled));
  must(pair.a.qp.post_send(pair.a.local(0, 8), 3, kSignaled));
  CHECK(stays_empty(pair.a.sends));
  CHECK(pair.b.at<std::uint64_t>(64) == 0);
  must(pair.b.qp.post_receive(pair.b.local(0, 8), 10));
  success(pair.a.sends, 1);
  success(pair.a.sends, 2);
  CHECK(pair.b.at<std::uint64_t>(64) == 1);
  CHECK(stays_empty(pair.a.sends));
  must(pair.b.qp.post_receive(pair.b.local(0, 8), 11));
  success(pair.a.sends, 3);
}

TEST_CASE("finite_number_of_tries_ends_in_receiver_not_ready_exceeded") {
  Pair pair(with_tries(1));
  must(pair.a.qp.post_send(pair.a.local(0, 8), 1, kSignaled));
  CHECK(failure(pair.a.sends, 1).status == IBV_WC_RNR_RETRY_EXC_ERR);
  CHECK(eventually([&] { return pair.a.qp.state() == IBV_QPS_ERR; }));
}

TEST_CASE("no_retry_at_all_fails_at_the_first_try") {
  Pair pair(with_tries(0));
  must(pair.a.qp.post_send(pair.a.local(0, 8), 1, kSignaled));
  CHECK(failure(pair.a.sends, 1).status == IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST_CASE("waiting_send_does_not_hold_up_other_queue_pairs") {
  Pair pair;
  Side c(*pair.device);
  Side d(*pair.device);
  connect(c.qp, d.qp);
  must(pair.a.qp.post_send(pair.a.local(0, 8), 1, kSignaled));
  for (std::uint64_t i = 0; i < 100; ++i) {
    must(c.qp.post_write(c.local(0, 8), d.remote(0, 8), i, kSignaled));
    success(c.sends, i);
  }
  must(pair.b.qp.post_receive(pair.b.local(0, 8), 2));
  success(pair.a.sends, 1);
}

TEST_CASE("waiting_sender_that_sleeps_is_woken_when_the_receive_is_posted") {
  Pair pair;
  REQUIRE(pair.a.sends.arm());
  must(pair.a.qp.post_send(pair.a.local(0, 8), 1, kSignaled));
  CHECK(pair.a.send_channel.wait(std::chrono::milliseconds(100)) == nullptr);
  must(pair.b.qp.post_receive(pair.b.local(0, 8), 2));
  CHECK(pair.a.send_channel.wait(kPatience) == pair.a.sends.raw());
  success(pair.a.sends, 1);
}
