// SPDX-License-Identifier: MIT
// The adversarial mode's READs and atomics: what overtakes them, and what does not.
#include <atomic>
#include <memory>
#include <vector>

#include "dtutils/device_memory.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"
#include "support/threads.hpp"

using namespace dtutils;
using namespace support;

namespace {

constexpr int kRounds = 100;

std::unique_ptr<Device> open_adversary() {
  DeviceOptions options;
  options.adversary.emplace();
  options.adversary->seed = 11;
  options.adversary->max_delay_us = 5;
  return open_shm_device(options);
}

/// Two connected sides.
struct Adversaries {
  Adversaries() { connect(a.qp, b.qp); }

  std::unique_ptr<Device> device = open_adversary();
  Side a{*device};
  Side b{*device};
};

/// Rounds in which a READ brought what a WRITE behind it wrote.
int overtaken_reads(unsigned flags_of_the_write) {
  Adversaries pair;
  int overtaken = 0;
  pair.a.at<std::uint64_t>(64) = 2;
  for (int round = 0; round < kRounds; ++round) {
    pair.b.at<std::uint64_t>(0) = 1;
    must(pair.a.qp.post_read(pair.a.local(0, 8), pair.b.remote(0, 8), 1, kUnsignaled));
    must(pair.a.qp.post_write(pair.a.local(64, 8), pair.b.remote(0, 8), 2,
                              kSignaled | flags_of_the_write));
    success(pair.a.sends, 2);
    overtaken += pair.a.at<std::uint64_t>(0) == 2;
  }
  return overtaken;
}

/// Rounds in which a SEND carried what its buffer held before an atomic's answer landed there.
int stale_sends(unsigned flags_of_the_send) {
  Adversaries pair;
  int stale = 0;
  for (int round = 0; round < kRounds; ++round) {
    pair.a.at<std::uint64_t>(0) = 0;
    pair.b.at<std::uint64_t>(0) = 1;
    must(pair.b.qp.post_receive(pair.b.local(64, 8), 3));
    must(pair.a.qp.post_fetch_and_add(pair.a.local(0, 8), pair.b.remote(0, 8), 1, 1, kSignaled));
    must(pair.a.qp.post_send(pair.a.local(0, 8), 2, kSignaled | flags_of_the_send));
    success(pair.b.receives, 3);
    stale += pair.b.at<std::uint64_t>(64) == 0;
    success(pair.a.sends, 1);
    REQUIRE(pair.a.at<std::uint64_t>(0) == 1);
    success(pair.a.sends, 2);
  }
  return stale;
}

}  // namespace

TEST_CASE("shm_adversary_lets_a_write_overtake_a_read_unless_it_is_fenced") {
  CHECK(overtaken_reads(kUnsignaled) > 0);
  CHECK(overtaken_reads(kFenced) == 0);
}

TEST_CASE("shm_adversary_lets_a_send_go_before_an_answer_has_landed_unless_it_is_fenced") {
  CHECK(stale_sends(kUnsignaled) > 0);
  CHECK(stale_sends(kFenced) == 0);
}

TEST_CASE("shm_adversary_fails_all_behind_a_read_whose_region_went") {
  Adversaries pair;
  int lost = 0;
  for (int round = 0; round < 20; ++round) {
    Side a(*pair.device);
    Side b(*pair.device);
    connect(a.qp, b.qp);
    auto region = std::make_unique<MemoryRegion>(b.pd, b.segment.data(), 4096);
    const RemoteMemoryLocator from = region->remote().part(0, 8);
    constexpr std::uint64_t kCount = 20;
    for (std::uint64_t i = 0; i < kCount; ++i) {
      must(i % 2 == 0 ? a.qp.post_read(a.local(0, 8), from, i, kSignaled)
                      : a.qp.post_write(a.local(64, 8), b.remote(64, 8), i, kSignaled));
    }
    region.reset();
    // Each completes once and in order: successes, one cause, and the rest flushed.
    bool failed = false;
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const ibv_wc completion = next_completion(a.sends);
      REQUIRE(completion.wr_id == i);
      if (failed) {
        REQUIRE(completion.status == IBV_WC_WR_FLUSH_ERR);
      } else if (completion.status != IBV_WC_SUCCESS) {
        failed = true;
        REQUIRE(completion.status == IBV_WC_REM_ACCESS_ERR);
      }
    }
    lost += failed;
    CHECK(stays_empty(a.sends, std::chrono::milliseconds(1)));
  }
  CHECK(lost > 0);
}

TEST_CASE("shm_adversary_shuffles_copies_into_memory_that_is_not_mapped") {
  // As from another process: the target's device is not the initiator's.
  const auto device_a = open_adversary();
  const auto device_b = open_shm_device({});
  Side a(*device_a);
  Side b(*device_b);
  connect(a.qp, b.qp);
  constexpr std::size_t kWords = 4096;
  std::vector<std::uint64_t> heap(kWords);
  const MemoryRegion region(b.pd, heap.data(), kWords * 8, kAccessReadWrite);
  std::atomic<bool> stop{false};
  std::atomic<bool> out_of_order{false};
  Threads threads;
  threads.start([&] {
    while (!stop.load()) {
      // The later word first: in an ascending copy it is never ahead.
      const std::uint64_t late = load_device_word(&heap[kWords - 1]);
      if (load_device_word(&heap[0]) < late) out_of_order = true;
    }
  });
  Deadline deadline(kPatience);
  for (std::uint64_t round = 1; !out_of_order.load() && !deadline.passed(); ++round) {
    for (std::size_t i = 0; i < kWords; ++i) a.at<std::uint64_t>(8 * i) = round;
    must(a.qp.post_write(a.local(0, kWords * 8), region.remote(), round, kSignaled));
    success(a.sends, round);
  }
  stop = true;
  threads.join();
  CHECK(out_of_order.load());
}
