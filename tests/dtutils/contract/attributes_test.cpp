// SPDX-License-Identifier: MIT
// Attributes of a queue pair: which ones a step needs, and that they count.
#include <string>

#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/queue_pair_states.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// RTR to RTS for a side that has room for `reads` READs and atomics in flight.
void to_ready_to_send_with_reads(Device& device, QueuePair& qp, std::uint8_t reads) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = qp.endpoint().psn;
  attributes.max_rd_atomic = reads;
  attributes.timeout = kAckTimeout;
  attributes.retry_cnt = kRetryCount;
  attributes.rnr_retry = kRnrRetryForEver;
  device.modify_qp(qp.raw(), attributes,
                   IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT |
                       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
}

}  // namespace

TEST_CASE("step_that_lacks_an_attribute_is_refused_and_changes_nothing") {
  const auto device = open_device_under_test();
  Side side(*device);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = device->info().port;
  const auto go = [&](int mask) {
    return error_text([&] { device->modify_qp(side.qp.raw(), attributes, mask); });
  };
  CHECK_THAT(go(IBV_QP_STATE), contains("INIT"));
  CHECK_THAT(go(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT), contains("INIT"));
  CHECK(side.qp.state() == IBV_QPS_RESET);
  to_init(*device, side.qp.raw(), kAccessAll);
  attributes.qp_state = IBV_QPS_RTR;
  CHECK_THAT(go(IBV_QP_STATE), contains("RTR"));
  CHECK(side.qp.state() == IBV_QPS_INIT);
}

TEST_CASE("attribute_that_a_step_does_not_take_is_refused") {
  Pair pair;
  ibv_qp_attr attributes{};
  attributes.timeout = 1;
  CHECK(error_text([&] { pair.device->modify_qp(pair.a.qp.raw(), attributes, IBV_QP_TIMEOUT); }) !=
        "(no error)");
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 1, kSignaled));
  success(pair.a.sends, 1);
}

TEST_CASE("number_that_does_not_fit_into_its_bits_is_refused_in_words") {
  const auto device = open_device_under_test();
  const Side peer(*device);
  const auto said = [&](auto change) {
    SideOptions options;
    change(options.queue_pair);
    Side side(*device, options);
    return error_text([&] { side.qp.connect(peer.qp.endpoint()); });
  };
  CHECK_THAT(said([](auto& qp) { qp.retry_count = 8; }),
             contains("its retry_count cannot be 8: it has 3 bits") && contains("from 0 to 7"));
  CHECK_THAT(said([](auto& qp) { qp.rnr_retry = 8; }),
             contains("its rnr_retry cannot be 8: it has 3 bits") && contains("from 0 to 7"));
  CHECK_THAT(said([](auto& qp) { qp.ack_timeout = 32; }),
             contains("its ack_timeout cannot be 32: it has 5 bits") && contains("from 0 to 31"));
  CHECK_THAT(said([](auto& qp) { qp.min_rnr_timer = 255; }),
             contains("its min_rnr_timer cannot be 255: it has 5 bits"));
  CHECK(said([](auto& qp) {
          qp.retry_count = 7;
          qp.ack_timeout = 31;
          qp.min_rnr_timer = 31;
        }) == "(no error)");
}

TEST_CASE("time_between_tries_can_be_changed_while_the_pair_is_connected") {
  SideOptions options;
  options.queue_pair.rnr_retry = 1;
  // The longest, 655 ms.
  options.queue_pair.min_rnr_timer = 0;
  Pair pair(options);
  ibv_qp_attr attributes{};
  attributes.min_rnr_timer = 1;
  pair.device->modify_qp(pair.b.qp.raw(), attributes, IBV_QP_MIN_RNR_TIMER);
  const auto begin = Clock::now();
  must(pair.a.qp.post_send(pair.a.local(0, 8), 1, kSignaled));
  CHECK(failure(pair.a.sends, 1).status == IBV_WC_RNR_RETRY_EXC_ERR);
  CHECK(Clock::now() - begin < milliseconds(600));
}

TEST_CASE("pair_without_room_for_reads_reads_nothing") {
  const auto device = open_device_under_test();
  Side a(*device);
  Side b(*device);
  b.at<std::uint64_t>(0) = 9;
  for (Side* side : {&a, &b}) to_init(*device, side->qp.raw(), kAccessAll);
  to_ready_to_receive(*device, a.qp.raw(), b.qp.endpoint());
  to_ready_to_receive(*device, b.qp.raw(), a.qp.endpoint());
  to_ready_to_send_with_reads(*device, a.qp, 0);
  must(a.qp.post_write(a.local(64, 8), b.remote(64, 8), 1, kSignaled));
  success(a.sends, 1);
  // Soft-RoCE takes the request and lets it wait forever.
  const PostResult answer = a.qp.post_read(a.local(0, 8), b.remote(0, 8), 2, kSignaled);
  CHECK((answer == PostResult::kInvalid || answer == PostResult::kOk));
  CHECK(stays_empty(a.sends));
  CHECK(a.at<std::uint64_t>(0) == 0);
}

TEST_CASE("pair_that_signals_everything_completes_requests_without_the_flag") {
  const auto device = open_device_under_test();
  Side a(*device);
  Side b(*device);
  ibv_qp_init_attr wanted{};
  wanted.send_cq = a.sends.raw();
  wanted.recv_cq = a.receives.raw();
  wanted.sq_sig_all = 1;
  wanted.cap = {16, 16, 1, 1, 0};
  ibv_qp* qp = make_connected(*device, a, b, wanted);
  ibv_send_wr* bad = nullptr;
  for (std::uint64_t i = 0; i < 3; ++i) {
    dtutils::detail::WorkRequest request(IBV_WR_RDMA_WRITE, a.local(0, 8), i, kUnsignaled);
    REQUIRE(ibv_post_send(qp, &request.at(b.remote(0, 8)).raw(), &bad) == 0);
  }
  for (std::uint64_t i = 0; i < 3; ++i) success(a.sends, i);
  device->destroy_qp(qp);
}
