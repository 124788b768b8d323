// SPDX-License-Identifier: MIT
// Queues have an end: a full one says so, works again after polling, and an overrun is contained.
#include <thread>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

constexpr std::uint32_t kDepth = 16;
/// No device rounds a depth of kDepth up to this.
constexpr std::uint64_t kNeverGranted = 4096;

SideOptions shallow() {
  SideOptions options;
  options.queue_pair.send_depth = kDepth;
  options.queue_pair.receive_depth = kDepth;
  options.completions = 2 * kNeverGranted;
  return options;
}

}  // namespace

TEST_CASE("full_send_queue_says_so_and_works_again_after_polling") {
  Pair pair(shallow());
  CHECK(pair.a.qp.send_depth() >= kDepth);
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for (int round = 0; round < 3; ++round) {
    // Without receives at the peer nothing completes, so the queue must fill up.
    const std::uint64_t first = sent;
    PostResult answer = PostResult::kOk;
    while (sent < first + kNeverGranted &&
           (answer = pair.a.qp.post_send(pair.a.local(0, 8), sent, kSignaled)) == PostResult::kOk) {
      ++sent;
    }
    REQUIRE(answer == PostResult::kFull);
    CHECK(sent - first >= kDepth);
    CHECK(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 0, kSignaled) ==
          PostResult::kFull);
    for (std::uint64_t i = first; i < sent; ++i) {
      must(pair.b.qp.post_receive(pair.b.local(0, 8), received));
      success(pair.b.receives, received++);
      success(pair.a.sends, i);
    }
  }
  CHECK(pair.a.qp.state() == IBV_QPS_RTS);
}

TEST_CASE("polled_completion_gives_back_its_place_and_those_before_it_but_none_behind") {
  Pair pair(shallow());
  const std::uint64_t depth = pair.a.qp.send_depth();
  const auto post = [&](std::uint64_t id, unsigned flags) {
    return pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), id, flags);
  };
  for (std::uint64_t i = 0; i < depth; ++i) must(post(i, i == 7 ? kSignaled : kUnsignaled));
  if (post(0, kUnsignaled) == PostResult::kOk) {
    WARN("SKIPPED: this device frees places before completions are polled (Soft-RoCE does)");
    return;
  }
  success(pair.a.sends, 7);
  std::uint64_t again = 0;
  while (again < depth && post(again, kUnsignaled) == PostResult::kOk) ++again;
  CHECK(again == 8);
}

TEST_CASE("full_receive_queue_says_so_and_works_again_after_polling") {
  Pair pair(shallow());
  std::uint64_t posted = 0;
  std::uint64_t received = 0;
  for (int round = 0; round < 3; ++round) {
    PostResult answer = PostResult::kOk;
    while (posted < received + kNeverGranted &&
           (answer = pair.b.qp.post_receive(pair.b.local(0, 8), posted)) == PostResult::kOk) {
      ++posted;
    }
    REQUIRE(answer == PostResult::kFull);
    CHECK(posted - received >= kDepth);
    for (; received < posted; ++received) {
      must(pair.a.qp.post_send(pair.a.local(0, 8), received, kSignaled));
      success(pair.a.sends, received);
      success(pair.b.receives, received);
    }
  }
}

TEST_CASE("many_times_the_depth_passes_through_when_the_sender_polls") {
  Pair pair(shallow());
  constexpr std::uint64_t kCount = 50 * kDepth;
  std::uint64_t sent = 0;
  std::uint64_t completed = 0;
  REQUIRE(eventually([&] {
    while (sent < kCount && sent - completed < kDepth) {
      must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(8 * (sent % 1000), 8), sent,
                                kSignaled));
      ++sent;
    }
    success(pair.a.sends, completed++);
    return completed == kCount;
  }));
}

TEST_CASE("completion_queue_overrun_is_contained") {
  SideOptions options;
  options.queue_pair.send_depth = 1024;
  options.completions = 8;
  Pair pair(options, SideOptions{});
  const auto capacity = static_cast<std::uint64_t>(pair.a.sends.raw()->cqe);
  // A device may keep more than it promises.
  const std::uint64_t count = 2 * capacity + 16;
  REQUIRE(count <= pair.a.qp.send_depth());
  Side bystander(*pair.device);
  Side its_peer(*pair.device);
  connect(bystander.qp, its_peer.qp);

  for (std::uint64_t i = 0; i < count; ++i) {
    const PostResult answer =
        pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), i, kSignaled);
    // A device that executes at once has broken the queue pair by now.
    if (answer != PostResult::kOk) {
      CHECK(answer == PostResult::kBroken);
      CHECK(i >= capacity);
      break;
    }
  }
  dtutils::sleep_for(std::chrono::milliseconds(200));

  // What fitted may still be taken; then the queue reports the overrun, or (Soft-RoCE, which only
  // raises an asynchronous event) has silently lost the rest.
  std::uint64_t taken = 0;
  ibv_wc completion{};
  int polled = 0;
  while ((polled = pair.a.sends.poll({&completion, 1})) > 0) ++taken;
  CHECK(taken < count);
  if (polled < 0) {
    CHECK(eventually([&] { return pair.a.qp.state() == IBV_QPS_ERR; }));
    CHECK(pair.a.sends.poll({&completion, 1}) < 0);
  } else {
    CHECK(pair.device->info().kind == DeviceKind::kVerbs);
  }

  must(bystander.qp.post_write(bystander.local(0, 8), its_peer.remote(0, 8), 5, kSignaled));
  success(bystander.sends, 5);
}

TEST_CASE("depths_above_the_limits_of_the_device_are_refused_in_words") {
  const auto device = open_device_under_test();
  ProtectionDomain pd(*device);
  CompletionQueue queue(*device, 16);
  QueuePairOptions options;
  options.send_depth = device->info().max_work_requests + 1;
  CHECK_THROWS_AS(QueuePair(pd, queue, queue, options), Error);
  options = {};
  options.receive_depth = device->info().max_work_requests + 1;
  CHECK_THROWS_AS(QueuePair(pd, queue, queue, options), Error);
  options = {};
  options.scatter_gather = device->info().max_scatter_gather + 1;
  CHECK_THROWS_AS(QueuePair(pd, queue, queue, options), Error);
  CHECK_THROWS_AS(CompletionQueue(*device, device->info().max_completions + 1), Error);
  CHECK_THROWS_AS(CompletionQueue(*device, 0), Error);
}
