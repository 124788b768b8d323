// SPDX-License-Identifier: MIT
// The states of a queue pair: what each allows, what is flushed, and the way back through RESET.
#include <functional>

#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/queue_pair_states.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

/// A send queue that is not ready refuses. Some drivers see that too late to take the request back:
/// they answer with an error, too, but may execute it once the queue pair is connected.
void expect_send_refused(Side& side, const Side& target) {
  const PostResult answer = side.qp.post_write(side.local(0, 8), target.remote(0, 8), 1, kSignaled);
  CHECK(answer == PostResult::kBroken);
  CHECK(stays_empty(side.sends));
  CHECK(all_bytes(target.bytes().first(8), 0));
}

}  // namespace

TEST_CASE("states_follow_the_steps_of_a_connection") {
  const auto device = open_device_under_test();
  Side a(*device);
  Side b(*device);
  CHECK(a.qp.state() == IBV_QPS_RESET);
  to_init(*device, a.qp.raw(), kAccessAll);
  CHECK(a.qp.state() == IBV_QPS_INIT);
  to_ready_to_receive(*device, a.qp.raw(), b.qp.endpoint());
  CHECK(a.qp.state() == IBV_QPS_RTR);
  to_ready_to_send(*device, a.qp.raw(), a.qp.endpoint().psn);
  CHECK(a.qp.state() == IBV_QPS_RTS);
  a.qp.disconnect();
  CHECK(a.qp.state() == IBV_QPS_ERR);
  to_reset(*device, a.qp.raw());
  CHECK(a.qp.state() == IBV_QPS_RESET);
}

TEST_CASE("steps_in_the_wrong_order_are_refused_in_words") {
  const auto device = open_device_under_test();
  Side a(*device);
  Side b(*device);
  const std::string from_reset =
      error_text([&] { to_ready_to_send(*device, a.qp.raw(), a.qp.endpoint().psn); });
  CHECK_THAT(from_reset, contains("RESET") && contains("RTS"));
  CHECK(a.qp.state() == IBV_QPS_RESET);
  CHECK(error_text([&] { to_ready_to_receive(*device, a.qp.raw(), b.qp.endpoint()); }) !=
        "(no error)");
  connect(a.qp, b.qp);
  CHECK_THAT(error_text([&] { a.qp.connect(b.qp.endpoint()); }), contains("already connected"));
  const auto is_refused = [](const std::function<void()>& step) {
    return error_text(step) != "(no error)";
  };
  const auto init = [&] { to_init(*device, a.qp.raw(), kAccessAll); };
  CHECK(is_refused([&] { to_ready_to_receive(*device, a.qp.raw(), b.qp.endpoint()); }));
  CHECK(is_refused(init));
  must(a.qp.post_write(a.local(0, 8), b.remote(0, 8), 1, kSignaled));
  success(a.sends, 1);
  a.qp.disconnect();
  CHECK(is_refused([&] { to_ready_to_send(*device, a.qp.raw(), a.qp.endpoint().psn); }));
  CHECK(is_refused(init));
  CHECK(a.qp.state() == IBV_QPS_ERR);
}

TEST_CASE("sends_are_refused_before_the_queue_pair_is_ready_to_send") {
  const auto device = open_device_under_test();
  Side target(*device);
  {
    Side side(*device);
    side.at<std::uint64_t>(0) = ~std::uint64_t{0};
    expect_send_refused(side, target);
  }
  {
    Side side(*device);
    side.at<std::uint64_t>(0) = ~std::uint64_t{0};
    to_init(*device, side.qp.raw(), kAccessAll);
    expect_send_refused(side, target);
  }
  {
    Side side(*device);
    side.at<std::uint64_t>(0) = ~std::uint64_t{0};
    to_init(*device, side.qp.raw(), kAccessAll);
    to_ready_to_receive(*device, side.qp.raw(), target.qp.endpoint());
    expect_send_refused(side, target);
  }
}

TEST_CASE("receives_posted_before_the_connection_are_used_after_it") {
  const auto device = open_device_under_test();
  Side a(*device);
  Side b(*device);
  to_init(*device, b.qp.raw(), kAccessAll);
  must(b.qp.post_receive(b.local(0, 64), 1));
  to_ready_to_receive(*device, b.qp.raw(), a.qp.endpoint());
  must(b.qp.post_receive(b.local(64, 64), 2));
  a.qp.connect(b.qp.endpoint());
  a.at<std::uint64_t>(0) = 31;
  must(a.qp.post_send(a.local(0, 8), 1, kSignaled));
  must(a.qp.post_send(a.local(0, 8), 2, kSignaled));
  // Ready to receive is enough for the side that receives.
  success(a.sends, 1);
  success(a.sends, 2);
  success(b.receives, 1);
  success(b.receives, 2);
  CHECK(b.at<std::uint64_t>(64) == 31);
}

TEST_CASE("receives_are_refused_before_the_queue_pair_is_initialized") {
  const auto device = open_device_under_test();
  Side side(*device);
  CHECK(side.qp.post_receive(side.local(0, 8), 1) != PostResult::kOk);
  to_init(*device, side.qp.raw(), kAccessAll);
  must(side.qp.post_receive(side.local(0, 8), 1));
}

TEST_CASE("disconnect_flushes_what_is_posted") {
  Pair pair;
  for (std::uint64_t i = 0; i < 5; ++i) must(pair.a.qp.post_receive(pair.a.local(0, 64), i));
  // The peer has no receive posted, so these sends stay where they are.
  for (std::uint64_t i = 10; i < 15; ++i) {
    must(pair.a.qp.post_send(pair.a.local(0, 8), i, i % 2 == 0 ? kSignaled : kUnsignaled));
  }
  pair.a.qp.disconnect();
  CHECK(pair.a.qp.state() == IBV_QPS_ERR);
  for (std::uint64_t i = 0; i < 5; ++i) {
    CHECK(failure(pair.a.receives, i).status == IBV_WC_WR_FLUSH_ERR);
  }
  for (std::uint64_t i = 10; i < 15; ++i) {
    CHECK(failure(pair.a.sends, i).status == IBV_WC_WR_FLUSH_ERR);
  }
}

TEST_CASE("posts_on_a_disconnected_queue_pair_are_refused_or_flushed") {
  Pair pair;
  pair.a.qp.disconnect();
  const PostResult sent =
      pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 1, kSignaled);
  if (sent == PostResult::kOk) {
    CHECK(failure(pair.a.sends, 1).status == IBV_WC_WR_FLUSH_ERR);
  } else {
    CHECK(sent == PostResult::kBroken);
  }
  const PostResult received = pair.a.qp.post_receive(pair.a.local(0, 8), 2);
  ibv_wc completion{};
  if (received == PostResult::kOk) {
    // Soft-RoCE takes the receive and forgets it: the break of a pair flushes what was there
    // before.
    if (eventually(
            [&] {
              return pair.a.receives.poll({&completion, 1}) != 0;
            },
            std::chrono::milliseconds(300))) {
      CHECK(completion.status == IBV_WC_WR_FLUSH_ERR);
    }
  } else {
    CHECK(received == PostResult::kBroken);
  }
}

TEST_CASE("request_to_a_disconnected_peer_fails_in_bounded_time") {
  Pair pair;
  pair.b.qp.disconnect();
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 1, kSignaled));
  CHECK(failure(pair.a.sends, 1).status == IBV_WC_RETRY_EXC_ERR);
  CHECK(eventually([&] { return pair.a.qp.state() == IBV_QPS_ERR; }));
  CHECK(all_bytes(pair.b.bytes(), 0));
}

TEST_CASE("request_to_a_destroyed_peer_fails_in_bounded_time") {
  const auto device = open_device_under_test();
  Side a(*device);
  RemoteMemoryLocator gone;
  {
    Side b(*device);
    connect(a.qp, b.qp);
    gone = b.remote(0, 8);
    must(a.qp.post_write(a.local(0, 8), gone, 1, kSignaled));
    success(a.sends, 1);
  }
  must(a.qp.post_write(a.local(0, 8), gone, 2, kSignaled));
  CHECK(failure(a.sends, 2).status == IBV_WC_RETRY_EXC_ERR);
}

TEST_CASE("after_a_failure_the_rest_is_flushed_in_order") {
  Pair pair;
  RemoteMemoryLocator wrong = pair.b.remote(0, 8);
  wrong.address -= 4096;
  constexpr std::uint64_t kCount = 20;
  std::uint64_t posted = 0;
  for (; posted < kCount; ++posted) {
    const PostResult answer = pair.a.qp.post_write(
        pair.a.local(0, 8), posted == 3 ? wrong : pair.b.remote(0, 8), posted, kSignaled);
    if (answer == PostResult::kOk) continue;
    // A device that executes at once refuses what comes after the failure.
    CHECK(answer == PostResult::kBroken);
    break;
  }
  REQUIRE(posted > 3);
  for (std::uint64_t i = 0; i < 3; ++i) success(pair.a.sends, i);
  CHECK(failure(pair.a.sends, 3).status == IBV_WC_REM_ACCESS_ERR);
  for (std::uint64_t i = 4; i < posted; ++i) {
    CHECK(failure(pair.a.sends, i).status == IBV_WC_WR_FLUSH_ERR);
  }
  CHECK(stays_empty(pair.a.sends));
  CHECK(eventually([&] { return pair.a.qp.state() == IBV_QPS_ERR; }));
}

TEST_CASE("queue_pair_works_again_after_reset") {
  Pair pair;
  for (int round = 1; round <= 3; ++round) {
    must(pair.b.qp.post_receive(pair.b.local(0, 64), 1));
    must(pair.a.qp.post_send(LocalBuffer{}, 7, kSignaled));
    success(pair.a.sends, 7);
    success(pair.b.receives, 1);

    must(pair.b.qp.post_receive(pair.b.local(0, 64), 2));
    RemoteMemoryLocator wrong = pair.b.remote(0, 8);
    wrong.rkey ^= 0x5555;
    must(pair.a.qp.post_write(pair.a.local(0, 8), wrong, 3, kSignaled));
    failure(pair.a.sends, 3);
    to_reset(*pair.device, pair.a.qp.raw());
    to_reset(*pair.device, pair.b.qp.raw());
    // What was posted before the reset is forgotten, its completions may already be there.
    ibv_wc stale{};
    while (pair.b.receives.poll({&stale, 1}) > 0) CHECK(stale.wr_id == 2);
    connect(pair.a.qp, pair.b.qp);

    pair.a.at<std::uint64_t>(0) = static_cast<std::uint64_t>(round);
    must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 4, kSignaled));
    success(pair.a.sends, 4);
    CHECK(pair.b.at<std::uint64_t>(0) == static_cast<std::uint64_t>(round));
  }
}

TEST_CASE("send_queue_has_all_its_room_again_after_reset") {
  Pair pair;
  // Without a signal among them, so that no completion gives a place back.
  for (std::uint64_t i = 0; i < pair.a.qp.send_depth(); ++i) {
    must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), i, kUnsignaled));
  }
  to_reset(*pair.device, pair.a.qp.raw());
  to_reset(*pair.device, pair.b.qp.raw());
  connect(pair.a.qp, pair.b.qp);
  const std::uint64_t last = pair.a.qp.send_depth() - 1;
  for (std::uint64_t i = 0; i <= last; ++i) {
    must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), i,
                              i == last ? kSignaled : kUnsignaled));
  }
  success(pair.a.sends, last);
}

TEST_CASE("pair_does_not_go_on_with_a_peer_that_was_reset_and_connected_anew") {
  Pair pair;
  pair.a.at<std::uint64_t>(0) = 1;
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 1, kSignaled));
  success(pair.a.sends, 1);
  to_reset(*pair.device, pair.b.qp.raw());
  pair.b.qp.connect(pair.a.qp.endpoint());
  // The peer counts packets from the start again, this side does not.
  pair.a.at<std::uint64_t>(0) = 2;
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 2, kSignaled));
  CHECK(failure(pair.a.sends, 2).status == IBV_WC_RETRY_EXC_ERR);
  CHECK(pair.b.at<std::uint64_t>(0) == 1);
}

TEST_CASE("peer_of_another_kind_of_device_is_refused") {
  const auto device = open_device_under_test();
  Side a(*device);
  Endpoint stranger = a.qp.endpoint();
  stranger.kind = static_cast<std::uint8_t>(
      device->info().kind == DeviceKind::kShm ? DeviceKind::kVerbs : DeviceKind::kShm);
  const std::string own = dtutils::to_string(device->info().kind);
  const std::string other = device->info().kind == DeviceKind::kShm ? "verbs" : "shm";
  CHECK_THAT(error_text([&] { a.qp.connect(stranger); }),
             contains("a " + own + " device") && contains("a " + other + " device"));
  CHECK(a.qp.state() == IBV_QPS_RESET);
}
