// SPDX-License-Identifier: MIT
// What a reset or the end of one shm queue pair leaves to the others that share its queues.
#include <memory>

#include "shm/completion.hpp"
#include "shm/queue_pair.hpp"
#include "support/catch.hpp"
#include "support/queue_pair_states.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

/// A second queue pair on the completion queues of a side.
std::unique_ptr<dtutils::QueuePair> another(Side& side, const QueuePairOptions& options = {}) {
  return std::make_unique<dtutils::QueuePair>(side.pd, side.sends, side.receives, options);
}

SideOptions with_completions(std::uint32_t depth) {
  SideOptions options;
  options.completions = depth;
  return options;
}

void reconnect(Device& device, dtutils::QueuePair& qp, const Endpoint& peer) {
  to_reset(device, qp.raw());
  qp.connect(peer);
}

}  // namespace

TEST_CASE("shm_receives_of_a_pair_that_goes_take_no_room_in_a_completion_queue") {
  const auto device = open_shm_device({});
  Side side(*device, with_completions(8));
  auto other = another(side);
  const bool destroyed = GENERATE(false, true);
  other->connect(side.qp.endpoint());
  for (std::uint64_t i = 0; i < 64; ++i) must(other->post_receive(side.local(0, 8), i));
  if (destroyed) {
    other.reset();
  } else {
    to_reset(*device, other->raw());
  }
  CHECK(stays_empty(side.receives));
}

TEST_CASE("shm_completions_of_pairs_that_went_take_no_room_either") {
  const auto device = open_shm_device({});
  Side a(*device, with_completions(8));
  for (std::uint64_t round = 0; round < 5; ++round) {
    Side b(*device);
    auto qp = another(a);
    connect(*qp, b.qp);
    for (std::uint64_t i = 0; i < 7; ++i) {
      must(qp->post_write(a.local(0, 8), b.remote(0, 8), i, kSignaled));
    }
    // Nobody polls; the next pair has the queue for itself.
    qp.reset();
  }
  Side b(*device);
  connect(a.qp, b.qp);
  must(a.qp.post_write(a.local(0, 8), b.remote(0, 8), 42, kSignaled));
  success(a.sends, 42);
}

TEST_CASE("shm_completion_polled_late_gives_back_nothing_of_the_connection_after_a_reset") {
  Pair pair;
  for (std::uint64_t i = 0; i < 5; ++i) {
    must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), i, kSignaled));
  }
  ibv_qp* raw = pair.a.qp.raw();
  to_reset(*pair.device, raw);
  reconnect(*pair.device, pair.b.qp, pair.a.qp.endpoint());
  pair.a.qp.connect(pair.b.qp.endpoint());

  // As if another thread had taken the fifth completion out before the reset.
  shm::QueuePair& qp = shm::from_verbs(raw);
  shm::Completion late;
  late.qp_num = raw->qp_num;
  late.sq_position = 5;
  REQUIRE(push_completion(qp.own.shared(), *qp.send_cq, {raw->qp_num, false}, late, nullptr) ==
          shm::Push::kDone);
  ibv_wc polled{};
  REQUIRE(pair.a.sends.poll({&polled, 1}) == 1);

  for (std::uint64_t i = 0; i < kSendDepth; ++i) {
    must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), i, kSignaled));
  }
  CHECK(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 0, kSignaled) ==
        PostResult::kFull);
}

TEST_CASE("shm_completion_of_a_destroyed_pair_gives_back_nothing_of_the_next_with_its_index") {
  const auto device = open_shm_device({});
  Side a(*device);
  Side b(*device);
  connect(a.qp, b.qp);
  for (std::uint64_t i = 0; i < 5; ++i) {
    must(a.qp.post_write(a.local(0, 8), b.remote(0, 8), i, kUnsignaled));
  }

  // As if a thread that polled it had been stopped since before this pair was made.
  shm::QueuePair& qp = shm::from_verbs(a.qp.raw());
  shm::Completion late;
  late.qp_num = a.qp.raw()->qp_num ^ (1u << shm::kIndexBits);
  late.sq_position = qp.posted;
  REQUIRE(push_completion(qp.own.shared(), *qp.send_cq, {late.qp_num, false}, late, nullptr) ==
          shm::Push::kDone);
  ibv_wc polled{};
  REQUIRE(a.sends.poll({&polled, 1}) == 1);
  CHECK(qp.posted - qp.entry->sq_retired.load() == 5);
}

TEST_CASE("shm_pair_meets_another_peer_after_a_reset") {
  Pair pair;
  Side c(*pair.device);
  must(pair.a.qp.post_receive(pair.a.local(0, 8), 1));
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 2, kSignaled));
  reconnect(*pair.device, pair.a.qp, c.qp.endpoint());
  c.qp.connect(pair.a.qp.endpoint());
  CHECK(stays_empty(pair.a.sends));
  CHECK(stays_empty(pair.a.receives));

  must(pair.a.qp.post_receive(pair.a.local(64, 8), 3));
  c.at<std::uint64_t>(0) = 77;
  must(c.qp.post_send(c.local(0, 8), 4, kSignaled));
  success(c.sends, 4);
  success(pair.a.receives, 3);
  CHECK(pair.a.at<std::uint64_t>(64) == 77);

  // The peer before has lost it.
  must(pair.b.qp.post_write(pair.b.local(0, 8), pair.a.remote(64, 8), 5, kSignaled));
  CHECK(failure(pair.b.sends, 5).status == IBV_WC_RETRY_EXC_ERR);
  CHECK(pair.a.at<std::uint64_t>(64) == 77);
}

TEST_CASE("shm_sleeper_for_a_solicited_completion_hears_of_an_overrun") {
  Pair pair(SideOptions{}, with_completions(4));
  REQUIRE(pair.b.receives.arm(true));
  // As many as its ring holds, and one more.
  const auto count = 2 * static_cast<std::uint64_t>(pair.b.receives.raw()->cqe) + 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    must(pair.b.qp.post_receive(pair.b.local(0, 8), i));
    must(pair.a.qp.post_send(pair.a.local(0, 8), i, kSignaled));
  }
  CHECK(pair.b.receive_channel.wait(kPatience) == pair.b.receives.raw());
  ibv_wc polled[16];
  CHECK(eventually([&] { return pair.b.receives.poll(polled) < 0; }));
}
