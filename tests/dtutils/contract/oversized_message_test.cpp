// SPDX-License-Identifier: MIT
// A message that is longer than the receive buffer fails on both sides and overwrites nothing.
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

TEST_CASE("message_larger_than_the_receive_buffer_fails_and_overwrites_nothing") {
  Pair pair;
  fill(pair.a.bytes().first(5000), 1);
  must(pair.b.qp.post_receive(pair.b.local(1024, 4000), 1));
  must(pair.a.qp.post_send(pair.a.local(0, 5000), 2, kSignaled));

  // Soft-RoCE gives the second status of each pair.
  const ibv_wc received = failure(pair.b.receives, 1);
  INFO(describe(received));
  CHECK((received.status == IBV_WC_LOC_LEN_ERR || received.status == IBV_WC_LOC_QP_OP_ERR));
  const ibv_wc sent = failure(pair.a.sends, 2);
  INFO(describe(sent));
  CHECK((sent.status == IBV_WC_REM_INV_REQ_ERR || sent.status == IBV_WC_REM_OP_ERR));

  CHECK(all_bytes(pair.b.bytes().first(1024), 0));
  CHECK(all_bytes(pair.b.bytes().subspan(1024 + 4000), 0));
  CHECK(eventually([&] { return pair.a.qp.state() == IBV_QPS_ERR; }));
}
