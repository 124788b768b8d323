// SPDX-License-Identifier: MIT
// Who may act on a queue pair of the shm device: the one that it is connected to, nobody else.
#include "dtutils/error.hpp"
#include "shm/queue_pair.hpp"
#include "support/catch.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

TEST_CASE("shm_queue_pair_of_another_device_with_the_same_number_cannot_act") {
  const auto device_a = open_shm_device({});
  const auto device_b = open_shm_device({});
  const auto device_c = open_shm_device({});
  Side a(*device_a);
  Side b(*device_b);
  Side intruder(*device_c);
  REQUIRE(a.qp.raw()->qp_num == intruder.qp.raw()->qp_num);
  connect(a.qp, b.qp);
  intruder.qp.connect(b.qp.endpoint());

  fill(intruder.bytes(), 1);
  must(intruder.qp.post_write(intruder.local(0, 64), b.remote(0, 64), 1, kSignaled));
  const ibv_wc refused = failure(intruder.sends, 1);
  CHECK(refused.status == IBV_WC_RETRY_EXC_ERR);
  CHECK(refused.vendor_err == shm::kPeerClosed);
  CHECK(all_bytes(b.bytes(), 0));

  CHECK(b.qp.state() == IBV_QPS_RTS);
  fill(a.bytes().first(64), 2);
  must(a.qp.post_write(a.local(0, 64), b.remote(0, 64), 2, kSignaled));
  success(a.sends, 2);
  CHECK(holds(b.bytes().first(64), 2));
}

TEST_CASE("shm_gates_differ_by_device_sender_and_receiver") {
  const std::uint64_t gate = shm::gate_value(0, 1, 2);
  CHECK(gate != 0);
  CHECK(gate != shm::gate_value(1, 1, 2));
  CHECK(gate != shm::gate_value(0, 2, 2));
  CHECK(gate != shm::gate_value(0, 1, 3));
  CHECK(gate != shm::gate_value(0, 2, 1));
}
