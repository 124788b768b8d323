// SPDX-License-Identifier: MIT
// Order within one queue pair: of completions, of effects, and of what the target sees.
#include <array>
#include <atomic>
#include <span>
#include <vector>

#include "dtutils/detail/work_request.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/joinable_thread.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"
#include "support/threads.hpp"

using namespace dtutils;
using namespace support;

TEST_CASE("completions_come_in_the_order_of_the_posts") {
  Pair pair;
  std::uint64_t id = 0;
  for (int i = 0; i < 20; ++i) must(pair.b.qp.post_receive(pair.b.local(0, 64), 0));
  for (int i = 0; i < 20; ++i) {
    must(pair.a.qp.post_write(pair.a.local(0, 4000), pair.b.remote(0, 4000), id++, kSignaled));
    must(pair.a.qp.post_send(pair.a.local(0, 8), id++, kSignaled));
    must(pair.a.qp.post_read(pair.a.local(8192, 64), pair.b.remote(8192, 64), id++, kSignaled));
    must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), id++, kSignaled));
  }
  for (std::uint64_t i = 0; i < id; ++i) success(pair.a.sends, i);
}

TEST_CASE("poll_gives_at_most_as_many_as_it_is_asked_for_and_the_rest_later") {
  Pair pair;
  for (std::uint64_t i = 0; i < 5; ++i) {
    must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), i, kSignaled));
  }
  std::uint64_t next = 0;
  CHECK(eventually([&] {
    std::array<ibv_wc, 3> some{};
    some[2].wr_id = 77;
    const int count = pair.a.sends.poll(std::span(some).first(2));
    REQUIRE((count >= 0 && count <= 2));
    for (int i = 0; i < count; ++i) CHECK(some[static_cast<std::size_t>(i)].wr_id == next++);
    CHECK(some[2].wr_id == 77);
    return next == 5;
  }));
}

TEST_CASE("last_of_several_writes_to_one_place_stays") {
  Pair pair;
  constexpr std::uint64_t kCount = 200;
  for (std::uint64_t i = 1; i <= kCount; ++i) {
    pair.a.at<std::uint64_t>(8 * i) = i;
    must(pair.a.qp.post_write(pair.a.local(8 * i, 8), pair.b.remote(0, 8), i,
                              i == kCount ? kSignaled : kUnsignaled));
  }
  std::uint64_t last = 0;
  REQUIRE(eventually([&] {
    const std::uint64_t now = load_device_word(&pair.b.at<std::uint64_t>(0));
    require(now >= last, "an earlier write became visible after a later one");
    last = now;
    return now == kCount;
  }));
  success(pair.a.sends, kCount);
}

TEST_CASE("earlier_write_is_visible_when_a_later_one_is") {
  Pair pair;
  constexpr std::size_t kSize = 4000;
  constexpr std::size_t kFlag = 60'000;
  for (std::uint64_t round = 1; round <= 50; ++round) {
    const auto seed = static_cast<std::uint32_t>(round);
    const std::size_t place = round % 2 * 8192;
    fill(pair.a.bytes().subspan(place, kSize), seed);
    pair.a.at<std::uint64_t>(kFlag) = round;
    must(pair.a.qp.post_write(pair.a.local(place, kSize), pair.b.remote(place, kSize), 0,
                              kUnsignaled));
    must(pair.a.qp.post_write(pair.a.local(kFlag, 8), pair.b.remote(kFlag, 8), round, kSignaled));
    REQUIRE(
        eventually([&] { return load_device_word(&pair.b.at<std::uint64_t>(kFlag)) == round; }));
    CHECK(holds(pair.b.bytes().subspan(place, kSize), seed));
    success(pair.a.sends, round);
  }
}

TEST_CASE("earlier_write_is_visible_when_a_receive_completes") {
  Pair pair;
  constexpr std::size_t kSize = 4000;
  for (std::uint64_t round = 1; round <= 50; ++round) {
    const auto seed = static_cast<std::uint32_t>(round);
    fill(pair.a.bytes().first(kSize), seed);
    must(pair.b.qp.post_receive(pair.b.local(8192, 8), round));
    must(pair.a.qp.post_write(pair.a.local(0, kSize), pair.b.remote(0, kSize), 0, kUnsignaled));
    must(pair.a.qp.post_send(pair.a.local(0, 8), round, kSignaled));
    success(pair.b.receives, round);
    CHECK(holds(pair.b.bytes().first(kSize), seed));
    success(pair.a.sends, round);
  }
}

TEST_CASE("read_sees_an_earlier_write_of_its_queue_pair") {
  Pair pair;
  for (std::uint64_t round = 1; round <= 50; ++round) {
    pair.a.at<std::uint64_t>(0) = round;
    must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 0, kUnsignaled));
    must(pair.a.qp.post_read(pair.a.local(8, 8), pair.b.remote(0, 8), round, kSignaled));
    success(pair.a.sends, round);
    CHECK(pair.a.at<std::uint64_t>(8) == round);
  }
}

TEST_CASE("read_that_misses_a_store_comes_behind_a_write_that_a_later_load_finds") {
  Pair pair;
  auto& written = pair.b.at<std::uint64_t>(0);
  auto& stored = pair.b.at<std::uint64_t>(64);
  // What was written when the store of that number was there.
  std::vector<std::uint64_t> found(4'000'000);
  std::atomic<bool> done{false};
  Threads threads;
  threads.start([&] {
    for (std::uint64_t number = 1; number < found.size(); ++number) {
      // seq_cst, both: the load comes behind the store.
      std::atomic_ref(stored).store(number, std::memory_order_seq_cst);
      found[number] = std::atomic_ref(written).load(std::memory_order_seq_cst);
    }
    done = true;
  });
  // The last store that the READ behind that WRITE saw.
  std::vector<std::uint64_t> seen;
  while (!done) {
    const std::uint64_t number = seen.size() + 1;
    pair.a.at<std::uint64_t>(0) = number;
    detail::WorkRequest write(IBV_WR_RDMA_WRITE, pair.a.local(0, 8), 0, kUnsignaled);
    detail::WorkRequest read(IBV_WR_RDMA_READ, pair.a.local(64, 8), number, kSignaled);
    write.at(pair.b.remote(0, 8)).raw().next = &read.at(pair.b.remote(64, 8)).raw();
    ibv_send_wr* bad = nullptr;
    must(pair.a.qp.post(write.raw(), &bad));
    success(pair.a.sends, number);
    seen.push_back(pair.a.at<std::uint64_t>(64));
  }
  threads.join();
  int missed_by_both = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::uint64_t next = seen[i] + 1;
    missed_by_both += next < found.size() && found[next] < i + 1 ? 1 : 0;
  }
  CHECK(missed_by_both == 0);
}

TEST_CASE("fenced_send_carries_what_an_earlier_read_brought") {
  Pair pair;
  for (std::uint64_t round = 1; round <= 50; ++round) {
    pair.b.at<std::uint64_t>(0) = round;
    must(pair.b.qp.post_receive(pair.b.local(64, 8), round));
    must(pair.a.qp.post_read(pair.a.local(0, 8), pair.b.remote(0, 8), 0, kUnsignaled));
    must(pair.a.qp.post_send(pair.a.local(0, 8), round, kSignaled | kFenced));
    success(pair.b.receives, round);
    success(pair.a.sends, round);
    CHECK(pair.b.at<std::uint64_t>(64) == round);
  }
}

TEST_CASE("bytes_of_one_write_ascend_where_the_device_promises_it") {
  Pair pair;
  if (!pair.device->data_in_order(pair.b.qp.raw(), IBV_WR_RDMA_WRITE)) {
    WARN("SKIPPED: this device does not promise the order of the bytes of one write");
    return;
  }
  constexpr std::size_t kSize = 4096;
  for (int round = 1; round <= 100; ++round) {
    std::memset(pair.a.bytes().data(), round, kSize);
    must(pair.a.qp.post_write(pair.a.local(0, kSize), pair.b.remote(0, kSize), round, kSignaled));
    const auto* last = &pair.b.at<std::uint8_t>(kSize - 1);
    REQUIRE(eventually([&] { return load_device_word(last) == round; }));
    CHECK(all_bytes(pair.b.bytes().first(kSize), round));
    success(pair.a.sends, round);
  }
}

TEST_CASE("bytes_of_one_read_are_fetched_ascending_where_the_device_promises_it") {
  Pair pair;
  if (!pair.device->info().reads_in_order) {
    WARN("SKIPPED: this device does not promise the order of the bytes of one read");
    return;
  }
  constexpr std::size_t kWords = 64;
  std::atomic<bool> done{false};
  // Writes the last word first, so who reads upwards never finds an older word behind a newer one.
  dtutils::JoinableThread writer([&] {
    for (std::uint64_t round = 1; !done; ++round) {
      for (std::size_t i = kWords; i-- > 0;) {
        dtutils::store_device_word(&pair.b.at<std::uint64_t>(i * 8), round);
      }
    }
  });
  std::uint64_t newest = 0;
  std::size_t bad = 0;
  for (int round = 1; round <= 20'000; ++round) {
    must(pair.a.qp.post_read(pair.a.local(0, kWords * 8), pair.b.remote(0, kWords * 8), round,
                             kSignaled));
    success(pair.a.sends, round);
    for (std::size_t i = 1; i < kWords; ++i) {
      bad += pair.a.at<std::uint64_t>(i * 8) < pair.a.at<std::uint64_t>(i * 8 - 8) ? 1 : 0;
    }
    newest = pair.a.at<std::uint64_t>(0);
  }
  done = true;
  writer.join();
  CHECK(bad == 0);
  CHECK(newest > 0);
}
