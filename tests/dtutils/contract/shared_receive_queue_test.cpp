// SPDX-License-Identifier: MIT
// Shared receive queues: several queue pairs draw buffers from one.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <set>
#include <vector>

#include "dtutils/clock.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"
#include "support/threads.hpp"

using namespace dtutils;
using namespace support;

namespace {

constexpr std::uint64_t kSenders = 3;
constexpr std::uint32_t kSharedDepth = 32;

/// Several senders, each connected to a queue pair of one receiver with a shared receive queue.
struct Star {
  Star() : device(open_device_under_test()), receiver(*device, with_shared_queue()) {
    QueuePairOptions options;
    options.shared_receive_queue = receiver.shared_receives.get();
    for (std::uint64_t i = 0; i < kSenders; ++i) {
      senders.push_back(std::make_unique<Side>(*device));
      ends.push_back(
          std::make_unique<QueuePair>(receiver.pd, receiver.sends, receiver.receives, options));
      connect(senders[i]->qp, *ends[i]);
    }
  }

  static SideOptions with_shared_queue() {
    SideOptions options;
    options.shared_receives = kSharedDepth;
    return options;
  }

  [[nodiscard]] bool post_receive(std::uint64_t id) {
    return receiver.shared_receives->post_receive(receiver.local(64 * id, 64), id);
  }

  std::unique_ptr<Device> device;
  Side receiver;
  std::vector<std::unique_ptr<Side>> senders;
  std::vector<std::unique_ptr<QueuePair>> ends;
};

/// Posts until the queue refuses; how many it took.
std::uint64_t post_until_full(Star& star) {
  std::uint64_t posted = 0;
  while (posted < 64 * kSharedDepth &&
         star.receiver.shared_receives->post_receive(star.receiver.local(0, 64), 0)) {
    ++posted;
  }
  return posted;
}

}  // namespace

TEST_CASE("shared_receive_queue_serves_several_queue_pairs") {
  Star star;
  constexpr std::uint64_t kEach = kSharedDepth / kSenders;
  for (std::uint64_t i = 0; i < kSenders * kEach; ++i) REQUIRE(star.post_receive(i));
  for (std::uint64_t i = 0; i < kEach; ++i) {
    for (std::uint64_t s = 0; s < kSenders; ++s) {
      Side& sender = *star.senders[s];
      sender.at<std::uint64_t>(8 * i) = 1000 * s + i;
      must(sender.qp.post_send_with_immediate(sender.local(8 * i, 8), static_cast<std::uint32_t>(s),
                                              i, kSignaled));
    }
  }
  for (std::uint64_t i = 0; i < kEach; ++i) {
    for (const auto& sender : star.senders) success(sender->sends, i);
  }
  std::set<std::uint64_t> buffers;
  std::vector<std::uint64_t> next(kSenders, 0);
  for (std::uint64_t i = 0; i < kSenders * kEach; ++i) {
    const ibv_wc received = next_completion(star.receiver.receives);
    REQUIRE(received.status == IBV_WC_SUCCESS);
    CHECK(buffers.insert(received.wr_id).second);
    const std::uint64_t s = immediate_of(received);
    REQUIRE(s < kSenders);
    CHECK(received.qp_num == star.ends[s]->raw()->qp_num);
    CHECK(star.receiver.at<std::uint64_t>(64 * received.wr_id) == 1000 * s + next[s]);
    ++next[s];
  }
}

TEST_CASE("write_with_immediate_draws_from_the_shared_receive_queue") {
  Star star;
  REQUIRE(star.post_receive(4));
  Side& sender = *star.senders[1];
  sender.at<std::uint64_t>(0) = 77;
  must(sender.qp.post_write_with_immediate(sender.local(0, 8), star.receiver.remote(40'000, 8), 5,
                                           1, kSignaled));
  const ibv_wc received = success(star.receiver.receives, 4);
  CHECK(received.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
  CHECK(immediate_of(received) == 5);
  CHECK(star.receiver.at<std::uint64_t>(40'000) == 77);
  success(sender.sends, 1);
}

TEST_CASE("shared_receive_queue_accepts_exactly_its_depth") {
  Star star;
  const std::uint64_t depth = post_until_full(star);
  CHECK(depth >= kSharedDepth);
  // Soft-RoCE grants more than was asked for, and does not say so.
  if (star.device->info().kind == DeviceKind::kShm) CHECK(depth == kSharedDepth);
  Side& sender = *star.senders[0];
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (std::uint64_t i = 0; i < round; ++i) {
      must(sender.qp.post_send(sender.local(0, 8), i, kSignaled));
      success(sender.sends, i);
      CHECK(next_completion(star.receiver.receives).status == IBV_WC_SUCCESS);
    }
    CHECK(post_until_full(star) == round);
  }
}

TEST_CASE("receives_of_a_pair_with_a_shared_receive_queue_go_to_that_queue_only") {
  Star star;
  ibv_recv_wr request{};
  ibv_recv_wr* bad = nullptr;
  CHECK(ibv_post_recv(star.ends[0]->raw(), &request, &bad) != 0);
  must(star.senders[0]->qp.post_send(LocalBuffer{}, 1, kSignaled));
  CHECK(stays_empty(star.receiver.receives));
  REQUIRE(star.post_receive(2));
  success(star.receiver.receives, 2);
  success(star.senders[0]->sends, 1);
}

TEST_CASE("chain_of_receives_that_does_not_fit_names_the_first_one_left_out") {
  Star star;
  post_until_full(star);
  Side& sender = *star.senders[0];
  for (std::uint64_t i = 0; i < 2; ++i) {
    must(sender.qp.post_send(sender.local(0, 8), i, kSignaled));
    success(sender.sends, i);
    CHECK(next_completion(star.receiver.receives).status == IBV_WC_SUCCESS);
  }
  ibv_recv_wr chain[4]{};
  for (std::size_t i = 0; i < std::size(chain); ++i) {
    chain[i].wr_id = i;
    chain[i].next = i + 1 < std::size(chain) ? &chain[i + 1] : nullptr;
  }
  ibv_recv_wr* bad = nullptr;
  CHECK(std::abs(ibv_post_srq_recv(star.receiver.shared_receives->raw(), chain, &bad)) == ENOMEM);
  CHECK(bad == &chain[2]);
  CHECK(post_until_full(star) == 0);
}

TEST_CASE("shared_receive_queue_takes_each_receive_that_completed_back_while_many_send") {
  Star star;
  CHECK(post_until_full(star) >= kSharedDepth);
  std::atomic<bool> stop{false};
  Threads threads;
  for (const auto& sender : star.senders) {
    threads.start([&stop, &side = *sender] {
      for (std::uint64_t i = 0; !stop; ++i) {
        must(side.qp.post_send(side.local(0, 8), i, kSignaled));
        ibv_wc sent[1];
        while (side.sends.poll(sent) == 0 && !stop) dtutils::give_way();
      }
    });
  }
  const auto end = dtutils::Clock::now() + std::chrono::milliseconds(300);
  std::uint64_t received = 0;
  std::uint64_t refused = 0;
  while (dtutils::Clock::now() < end) {
    ibv_wc completions[4];
    const int count = star.receiver.receives.poll(completions);
    for (int i = 0; i < count; ++i) {
      ++received;
      if (!star.post_receive(completions[i].wr_id)) ++refused;
    }
  }
  stop = true;
  threads.join();
  CHECK(received > 0);
  CHECK(refused == 0);
  // What the senders had posted last.
  std::uint64_t late = 0;
  while (!stays_empty(star.receiver.receives)) ++late;
  CHECK(post_until_full(star) == late);
}

TEST_CASE("sends_to_an_empty_shared_receive_queue_wait") {
  Star star;
  for (const auto& sender : star.senders) {
    must(sender->qp.post_send(sender->local(0, 8), 1, kSignaled));
  }
  CHECK(stays_empty(star.senders[0]->sends));
  for (std::uint64_t i = 0; i < kSenders; ++i) REQUIRE(star.post_receive(i));
  for (const auto& sender : star.senders) success(sender->sends, 1);
  for (std::uint64_t i = 0; i < kSenders; ++i) {
    CHECK(next_completion(star.receiver.receives).status == IBV_WC_SUCCESS);
  }
}

TEST_CASE("broken_queue_pair_leaves_the_shared_receive_queue_to_the_others") {
  Star star;
  star.senders[0]->qp.disconnect();
  star.ends[0]->disconnect();
  for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(star.post_receive(i));
  for (std::uint64_t i = 0; i < 4; ++i) {
    Side& sender = *star.senders[1 + i % 2];
    must(sender.qp.post_send(sender.local(0, 8), i, kSignaled));
    success(sender.sends, i);
    CHECK(next_completion(star.receiver.receives).status == IBV_WC_SUCCESS);
  }
}
