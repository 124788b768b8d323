// SPDX-License-Identifier: MIT
// Threads: each with a queue pair of its own, or several on one.
#include "support/threads.hpp"

#include <atomic>

#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

TEST_CASE("threads_with_queue_pairs_of_their_own_exchange_messages") {
  const auto device = open_device_under_test();
  Side one(*device);
  Side other(*device);
  connect(one.qp, other.qp);
  constexpr std::uint64_t kCount = 500;
  // Each side answers a message with the next number; buffers alternate, so none is overwritten.
  const auto play = [](Side& side, std::uint64_t first) {
    must(side.qp.post_receive(side.local(1024, 8), 0));
    for (std::uint64_t number = first; number <= kCount; number += 2) {
      if (number != 1) {
        success(side.receives, 0);
        require_equal(side.at<std::uint64_t>(1024), number - 1, "the number that arrived");
        must(side.qp.post_receive(side.local(1024, 8), 0));
      }
      side.at<std::uint64_t>(0) = number;
      must(side.qp.post_send(side.local(0, 8), number, kSignaled));
      success(side.sends, number);
    }
  };
  Threads threads;
  threads.start([&] { play(one, 1); });
  threads.start([&] { play(other, 2); });
  threads.join();
}

TEST_CASE("several_threads_post_on_one_queue_pair") {
  Pair pair;
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kEach = 200;
  std::atomic<std::uint64_t> completed{0};
  Threads threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.start([&, t] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        const std::size_t place = 8 * (t * kEach + i);
        pair.a.at<std::uint64_t>(place) = t * 1000 + i + 1;
        PostResult answer = PostResult::kFull;
        const bool posted = eventually([&] {
          answer = pair.a.qp.post_write(pair.a.local(place, 8), pair.b.remote(place, 8),
                                        t * kEach + i, kSignaled);
          return answer != PostResult::kFull;
        });
        require(posted, "the send queue stayed full");
        must(answer);
      }
    });
  }
  threads.start([&] {
    std::vector<bool> seen(kThreads * kEach);
    while (completed < kThreads * kEach) {
      const ibv_wc completion = next_completion(pair.a.sends);
      require(completion.status == IBV_WC_SUCCESS, describe(completion));
      require(!seen[completion.wr_id], "a request completed twice");
      seen[completion.wr_id] = true;
      ++completed;
    }
  });
  threads.join();
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    for (std::uint64_t i = 0; i < kEach; ++i) {
      CHECK(pair.b.at<std::uint64_t>(8 * (t * kEach + i)) == t * 1000 + i + 1);
    }
  }
}

TEST_CASE("several_threads_poll_one_completion_queue") {
  Pair pair;
  constexpr std::uint64_t kCount = 1000;
  std::vector<std::atomic<int>> seen(kCount);
  std::atomic<std::uint64_t> taken{0};
  Threads threads;
  for (int t = 0; t < 3; ++t) {
    threads.start([&] {
      const bool all = eventually([&] {
        ibv_wc completions[4];
        const int polled = pair.a.sends.poll(completions);
        require(polled >= 0, "the completion queue has overflowed");
        for (int i = 0; i < polled; ++i) {
          require(completions[i].status == IBV_WC_SUCCESS, describe(completions[i]));
          seen[completions[i].wr_id].fetch_add(1);
        }
        return taken.fetch_add(static_cast<std::uint64_t>(polled)) + polled >= kCount;
      });
      require(all, "completions are missing");
    });
  }
  threads.start([&] {
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const bool posted = eventually([&] {
        return pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), i, kSignaled) ==
               PostResult::kOk;
      });
      require(posted, "the send queue stayed full");
    }
  });
  threads.join();
  for (std::uint64_t i = 0; i < kCount; ++i) CHECK(seen[i] == 1);
}

TEST_CASE("threads_open_connect_and_close_at_the_same_time") {
  const auto device = open_device_under_test();
  Threads threads;
  for (int t = 0; t < 3; ++t) {
    threads.start([&] {
      for (int i = 0; i < 10; ++i) {
        Side a(*device);
        Side b(*device);
        connect(a.qp, b.qp);
        must(a.qp.post_write(a.local(0, 8), b.remote(0, 8), 1, kSignaled));
        success(a.sends, 1);
      }
    });
  }
  threads.join();
}
