// SPDX-License-Identifier: MIT
// Completion channels: a waiter sleeps, is woken by what it asked for, and by nothing else.
#include <poll.h>

#include <ctime>

#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"
#include "support/threads.hpp"

using namespace dtutils;
using namespace support;

namespace {

using std::chrono::milliseconds;

/// Long enough for an event that is on its way.
constexpr milliseconds kNoEvent{100};

milliseconds cpu_time_of_this_thread() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return milliseconds(time.tv_sec * 1000 + time.tv_nsec / 1'000'000);
}

void send(Pair& pair, unsigned flags = kSignaled) {
  must(pair.a.qp.post_send(pair.a.local(0, 8), 1, flags));
  success(pair.a.sends, 1);
}

}  // namespace

TEST_CASE("sleeping_waiter_is_woken_by_a_completion") {
  Pair pair;
  must(pair.b.qp.post_receive(pair.b.local(0, 8), 2));
  REQUIRE(pair.b.receives.arm());
  ibv_cq* woken = nullptr;
  milliseconds cpu{};
  Threads threads;
  threads.start([&] {
    const milliseconds before = cpu_time_of_this_thread();
    woken = pair.b.receive_channel.wait(kPatience);
    cpu = cpu_time_of_this_thread() - before;
  });
  std::this_thread::sleep_for(milliseconds(300));
  send(pair);
  threads.join();
  CHECK(woken == pair.b.receives.raw());
  CHECK(cpu < milliseconds(100));
  success(pair.b.receives, 2);
}

TEST_CASE("wait_ends_when_its_time_is_over") {
  Pair pair;
  REQUIRE(pair.b.receives.arm());
  const auto begin = dtutils::Clock::now();
  CHECK(pair.b.receive_channel.wait(milliseconds(50)) == nullptr);
  CHECK(dtutils::Clock::now() - begin >= milliseconds(50));
  CHECK(pair.b.receive_channel.wait(milliseconds(0)) == nullptr);
}

TEST_CASE("completion_gives_no_event_unless_the_queue_was_armed") {
  Pair pair;
  must(pair.b.qp.post_receive(pair.b.local(0, 8), 2));
  send(pair);
  success(pair.b.receives, 2);
  CHECK(pair.b.receive_channel.wait(kNoEvent) == nullptr);
}

TEST_CASE("arming_once_gives_one_event") {
  Pair pair;
  for (std::uint64_t i = 0; i < 3; ++i) must(pair.b.qp.post_receive(pair.b.local(0, 8), i));
  REQUIRE(pair.b.receives.arm());
  for (int i = 0; i < 3; ++i) send(pair);
  for (std::uint64_t i = 0; i < 3; ++i) success(pair.b.receives, i);
  CHECK(pair.b.receive_channel.wait(kPatience) == pair.b.receives.raw());
  CHECK(pair.b.receive_channel.wait(kNoEvent) == nullptr);
}

TEST_CASE("armed_again_the_queue_gives_another_event") {
  Pair pair;
  for (std::uint64_t i = 0; i < 20; ++i) {
    must(pair.b.qp.post_receive(pair.b.local(0, 8), i));
    REQUIRE(pair.b.receives.arm());
    send(pair);
    REQUIRE(pair.b.receive_channel.wait(kPatience) == pair.b.receives.raw());
    success(pair.b.receives, i);
  }
}

TEST_CASE("poll_after_arming_finds_what_came_before") {
  Pair pair;
  must(pair.b.qp.post_receive(pair.b.local(0, 8), 2));
  send(pair);
  // Whether this gives an event, too, is up to the device.
  REQUIRE(pair.b.receives.arm());
  success(pair.b.receives, 2);
}

TEST_CASE("solicited_waiter_sleeps_through_ordinary_completions") {
  Pair pair;
  for (std::uint64_t i = 0; i < 2; ++i) must(pair.b.qp.post_receive(pair.b.local(0, 8), i));
  REQUIRE(pair.b.receives.arm(true));
  send(pair);
  CHECK(pair.b.receive_channel.wait(kNoEvent) == nullptr);
  send(pair, kSignaled | kSolicited);
  CHECK(pair.b.receive_channel.wait(kPatience) == pair.b.receives.raw());
  success(pair.b.receives, 0);
  success(pair.b.receives, 1);
}

TEST_CASE("waiter_for_the_next_completion_is_woken_by_it_though_another_waits_for_solicited_ones") {
  Pair pair;
  const bool solicited_first = GENERATE(false, true);
  must(pair.b.qp.post_receive(pair.b.local(0, 8), 1));
  REQUIRE(pair.b.receives.arm(solicited_first));
  REQUIRE(pair.b.receives.arm(!solicited_first));
  send(pair);
  CHECK(pair.b.receive_channel.wait(kPatience) == pair.b.receives.raw());
  success(pair.b.receives, 1);
}

TEST_CASE("solicited_write_with_immediate_wakes_the_waiter") {
  Pair pair;
  must(pair.b.qp.post_receive(LocalBuffer{}, 1));
  REQUIRE(pair.b.receives.arm(true));
  must(pair.a.qp.post_write_with_immediate(pair.a.local(0, 8), pair.b.remote(0, 8), 3, 1,
                                           kSignaled | kSolicited));
  CHECK(pair.b.receive_channel.wait(kPatience) == pair.b.receives.raw());
  success(pair.b.receives, 1);
}

TEST_CASE("solicited_waiter_is_woken_by_a_failed_receive") {
  Pair pair;
  must(pair.b.qp.post_receive(pair.b.local(0, 8), 2));
  REQUIRE(pair.b.receives.arm(true));
  pair.b.qp.disconnect();
  CHECK(pair.b.receive_channel.wait(kPatience) == pair.b.receives.raw());
  failure(pair.b.receives, 2);
}

TEST_CASE("solicited_waiter_is_woken_by_a_failed_send") {
  Pair pair;
  RemoteMemoryLocator wrong = pair.b.remote(0, 8);
  wrong.rkey ^= 0x00010000;
  REQUIRE(pair.a.sends.arm(true));
  must(pair.a.qp.post_write(pair.a.local(0, 8), wrong, 1, kSignaled));
  if (pair.a.send_channel.wait(milliseconds(2000)) == nullptr) {
    // Soft-RoCE raises solicited events for receives only (rxe_comp.c, make_send_cqe).
    CHECK(pair.device->info().kind == DeviceKind::kVerbs);
  }
  failure(pair.a.sends, 1);
}

TEST_CASE("waiter_for_sends_is_woken_by_its_own_requests") {
  Pair pair;
  for (std::uint64_t i = 0; i < 10; ++i) {
    REQUIRE(pair.a.sends.arm());
    must(pair.a.qp.post_read(pair.a.local(0, 8), pair.b.remote(0, 8), i, kSignaled));
    REQUIRE(pair.a.send_channel.wait(kPatience) == pair.a.sends.raw());
    success(pair.a.sends, i);
  }
}

TEST_CASE("channel_can_be_watched_with_poll") {
  Pair pair;
  must(pair.b.qp.post_receive(pair.b.local(0, 8), 2));
  REQUIRE(pair.b.receives.arm());
  pollfd event{pair.b.receive_channel.fd(), POLLIN, 0};
  CHECK(::poll(&event, 1, 0) == 0);
  send(pair);
  CHECK(::poll(&event, 1, static_cast<int>(kPatience.count())) == 1);
  CHECK(pair.b.receive_channel.wait(milliseconds(0)) == pair.b.receives.raw());
  CHECK(::poll(&event, 1, 0) == 0);
}

TEST_CASE("one_channel_serves_several_queues") {
  const auto device = open_device_under_test();
  Side a(*device);
  Side b(*device);
  CompletionChannel shared(*device);
  CompletionQueue sends(*device, 16, &shared);
  CompletionQueue receives(*device, 16, &shared);
  QueuePair qp(b.pd, sends, receives);
  connect(a.qp, qp);
  REQUIRE(sends.arm());
  REQUIRE(receives.arm());
  must(qp.post_write(b.local(0, 8), a.remote(0, 8), 1, kSignaled));
  CHECK(shared.wait(kPatience) == sends.raw());
  must(qp.post_receive(b.local(0, 8), 2));
  must(a.qp.post_send(a.local(0, 8), 3, kSignaled));
  CHECK(shared.wait(kPatience) == receives.raw());
  success(sends, 1);
  success(receives, 2);
  success(a.sends, 3);
}

TEST_CASE("disconnect_wakes_a_waiter_for_receives") {
  Pair pair;
  must(pair.b.qp.post_receive(pair.b.local(0, 8), 2));
  REQUIRE(pair.b.receives.arm());
  pair.b.qp.disconnect();
  CHECK(pair.b.receive_channel.wait(kPatience) == pair.b.receives.raw());
  CHECK(failure(pair.b.receives, 2).status == IBV_WC_WR_FLUSH_ERR);
}
