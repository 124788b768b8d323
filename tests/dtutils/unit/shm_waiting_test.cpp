// SPDX-License-Identifier: MIT
// How long a request on shm waits, and for what: a receive, a connection, or nobody any more.
#include <thread>

#include "shm/queue_pair.hpp"
#include "support/catch.hpp"
#include "support/queue_pair_states.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

TEST_CASE("shm_send_that_waits_for_a_receive_fails_when_the_peer_is_reset") {
  Pair pair;
  must(pair.a.qp.post_send(pair.a.local(0, 8), 1, kSignaled));
  REQUIRE(stays_empty(pair.a.sends));
  to_reset(*pair.device, pair.b.qp.raw());
  const ibv_wc failed = failure(pair.a.sends, 1);
  CHECK(failed.status == IBV_WC_RETRY_EXC_ERR);
  CHECK(failed.vendor_err == shm::kPeerClosed);
}

TEST_CASE("shm_send_that_waited_for_a_connection_waits_for_ever_for_a_receive") {
  const auto device = open_shm_device({});
  SideOptions hasty;
  hasty.queue_pair.ack_timeout = 13;
  hasty.queue_pair.retry_count = 1;
  const std::chrono::milliseconds patience(67);
  Side a(*device, hasty);
  Side b(*device);
  a.qp.connect(b.qp.endpoint());
  must(a.qp.post_send(a.local(0, 8), 1, kSignaled));
  b.qp.connect(a.qp.endpoint());
  REQUIRE(stays_empty(a.sends, 3 * patience));
  must(b.qp.post_receive(b.local(0, 8), 2));
  success(a.sends, 1);
  success(b.receives, 2);
}

TEST_CASE("shm_request_before_the_peer_connects_is_executed_when_it_does") {
  const auto device = open_shm_device({});
  Side a(*device);
  Side b(*device);
  a.qp.connect(b.qp.endpoint());
  a.at<std::uint64_t>(0) = 5;
  must(a.qp.post_write(a.local(0, 8), b.remote(0, 8), 1, kSignaled));
  must(a.qp.post_write(a.local(0, 8), b.remote(8, 8), 2, kSignaled));
  CHECK(b.at<std::uint64_t>(0) == 0);
  b.qp.connect(a.qp.endpoint());
  success(a.sends, 1);
  success(a.sends, 2);
  CHECK(b.at<std::uint64_t>(8) == 5);
}

TEST_CASE("shm_request_to_a_peer_that_never_connects_fails_in_time") {
  const auto device = open_shm_device({});
  Side a(*device);
  Side b(*device);
  a.qp.connect(b.qp.endpoint());
  must(a.qp.post_write(a.local(0, 8), b.remote(0, 8), 1, kSignaled));
  must(a.qp.post_write(a.local(0, 8), b.remote(0, 8), 2, 0));
  const ibv_wc failed = failure(a.sends, 1, std::chrono::milliseconds(1500));
  CHECK(failed.status == IBV_WC_RETRY_EXC_ERR);
  CHECK(failed.vendor_err == shm::kPeerClosed);
  CHECK(failure(a.sends, 2).status == IBV_WC_WR_FLUSH_ERR);
  CHECK(a.qp.state() == IBV_QPS_ERR);
}

TEST_CASE("shm_receives_of_one_chain_are_flushed_although_a_later_one_is_refused") {
  Pair pair;
  pair.b.qp.disconnect();
  ibv_recv_wr refused{};
  refused.wr_id = 2;
  refused.num_sge = 1000;
  ibv_recv_wr taken{};
  taken.wr_id = 1;
  taken.next = &refused;
  ibv_recv_wr* bad = nullptr;
  CHECK(ibv_post_recv(pair.b.qp.raw(), &taken, &bad) == EINVAL);
  CHECK(bad == &refused);
  CHECK(failure(pair.b.receives, 1).status == IBV_WC_WR_FLUSH_ERR);
}
