// SPDX-License-Identifier: MIT
// A process may open several devices at once, and connect them to each other.
#include "support/catch.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

void go_both_ways(Side& from, Side& to) {
  from.at<std::uint64_t>(0) += 1;
  must(to.qp.post_receive(to.local(64, 8), 1));
  must(from.qp.post_send(from.local(0, 8), 2, kSignaled));
  must(from.qp.post_write(from.local(0, 8), to.remote(128, 8), 3, kSignaled));
  must(from.qp.post_read(from.local(256, 8), to.remote(128, 8), 4, kSignaled));
  for (const std::uint64_t id : {2, 3, 4}) success(from.sends, id);
  success(to.receives, 1);
  CHECK(to.at<std::uint64_t>(64) == from.at<std::uint64_t>(0));
  CHECK(from.at<std::uint64_t>(256) == from.at<std::uint64_t>(0));
}

}  // namespace

TEST_CASE("two_opened_devices_of_one_process_reach_each_other") {
  const auto one = open_device_under_test();
  const auto other = open_device_under_test();
  Side a(*one);
  Side b(*other);
  connect(a.qp, b.qp);
  go_both_ways(a, b);
  go_both_ways(b, a);
}

TEST_CASE("closing_one_device_leaves_the_other_at_work") {
  Pair pair;
  {
    const auto other = open_device_under_test();
    Side a(*other);
    Side b(*other);
    connect(a.qp, b.qp);
    go_both_ways(a, b);
    go_both_ways(pair.a, pair.b);
  }
  go_both_ways(pair.b, pair.a);
}

TEST_CASE("devices_can_be_opened_and_closed_many_times") {
  for (int i = 0; i < 20; ++i) {
    Pair pair;
    go_both_ways(pair.a, pair.b);
  }
}

TEST_CASE("queue_pair_connected_to_itself_works") {
  const auto device = open_device_under_test();
  Side side(*device);
  side.qp.connect(side.qp.endpoint());
  go_both_ways(side, side);
}

TEST_CASE("many_queue_pairs_share_one_device") {
  Pair pair;
  std::vector<std::unique_ptr<QueuePair>> left;
  std::vector<std::unique_ptr<QueuePair>> right;
  QueuePairOptions options;
  options.send_depth = options.receive_depth = 16;
  for (int i = 0; i < 64; ++i) {
    left.push_back(std::make_unique<QueuePair>(pair.a.pd, pair.a.sends, pair.a.receives, options));
    right.push_back(std::make_unique<QueuePair>(pair.b.pd, pair.b.sends, pair.b.receives, options));
    connect(*left.back(), *right.back());
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    pair.a.at<std::uint64_t>(8 * i) = i + 1;
    must(left[i]->post_write(pair.a.local(8 * i, 8), pair.b.remote(8 * i, 8), i, kSignaled));
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    CHECK(next_completion(pair.a.sends).status == IBV_WC_SUCCESS);
  }
  for (std::size_t i = 0; i < left.size(); ++i) CHECK(pair.b.at<std::uint64_t>(8 * i) == i + 1);
}
