// SPDX-License-Identifier: MIT
// Buffers of messages that stay in their process.
#include "threads/local_pool.hpp"

#include <cstring>
#include <thread>
#include <vector>

#include "dsfabric/send_space.hpp"
#include "support/catch.hpp"

using dsfabric::kInlineMessage;
using dsfabric::LocalPool;
using dsfabric::LocalPools;
using dsfabric::ReceiveBuffer;

TEST_CASE("a_buffer_that_came_back_is_used_again") {
  LocalPool pool(256, 1 << 20);
  ReceiveBuffer* const first = pool.take(false);
  REQUIRE(first != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(first->data) % 64 == 0);
  pool.put_back(*first);
  CHECK(pool.take(false) == first);
  const std::size_t made = pool.buffers();
  for (int i = 0; i < 1000; ++i) {
    ReceiveBuffer* const other = pool.take(false);
    pool.give_back(*other);
  }
  CHECK(pool.buffers() == made);
}

TEST_CASE("buffers_in_use_do_not_overlap") {
  constexpr std::size_t kBytes = 300;
  LocalPool pool(kBytes, 1 << 20);
  std::vector<ReceiveBuffer*> taken;
  for (int i = 0; i < 100; ++i) {
    taken.push_back(pool.take(false));
    REQUIRE(taken.back() != nullptr);
    std::memset(taken.back()->data, i, kBytes);
  }
  int wrong = 0;
  for (int i = 0; i < 100; ++i) {
    for (std::size_t k = 0; k < kBytes; ++k) {
      wrong += taken[static_cast<std::size_t>(i)]->data[k] != static_cast<std::byte>(i);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("beyond_the_limit_only_who_may_not_wait_gets_a_buffer") {
  LocalPool pool(256, 20 * 320);
  std::vector<ReceiveBuffer*> taken;
  while (ReceiveBuffer* const buffer = pool.take(false)) {
    taken.push_back(buffer);
    REQUIRE(taken.size() < 100);
  }
  CHECK(taken.size() >= 20);
  ReceiveBuffer* const more = pool.take(true);
  CHECK(more != nullptr);
  pool.give_back(*more);
  CHECK(pool.take(false) != nullptr);
}

TEST_CASE("a_message_gets_a_buffer_that_is_large_enough") {
  LocalPools pools(4096, 1 << 20);
  ReceiveBuffer* const small = pools.take(kInlineMessage, false);
  ReceiveBuffer* const large = pools.take(kInlineMessage + 1, false);
  CHECK(small->pool == &pools.small);
  CHECK(large->pool == &pools.large);
  std::memset(large->data, 1, 4096);
  CHECK(pools.owns(*small));
  LocalPools others(4096, 1 << 20);
  CHECK_FALSE(others.owns(*small));
}

TEST_CASE("other_threads_give_buffers_back_while_the_owner_takes") {
  constexpr int kRounds = 20'000;
  LocalPool pool(64, 64 * 128);
  std::atomic<ReceiveBuffer*> handed{nullptr};
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      ReceiveBuffer* buffer;
      while ((buffer = handed.exchange(nullptr, std::memory_order_acquire)) == nullptr) {
        std::this_thread::yield();
      }
      buffer->data[0] = std::byte{1};
      pool.give_back(*buffer);
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    ReceiveBuffer* buffer;
    while ((buffer = pool.take(false)) == nullptr) std::this_thread::yield();
    buffer->data[0] = std::byte{0};
    while (handed.load(std::memory_order_relaxed) != nullptr) std::this_thread::yield();
    handed.store(buffer, std::memory_order_release);
  }
  other.join();
  CHECK(pool.buffers() <= 128);
}
