// SPDX-License-Identifier: MIT
// The queue of messages that wait for one thread.
#include "threads/inbox.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "dtutils/wait.hpp"
#include "support/catch.hpp"

using dsfabric::Inbox;
using dsfabric::ReceiveBuffer;

TEST_CASE("pop_fails_when_empty") {
  Inbox inbox;
  CHECK(inbox.empty());
  CHECK(inbox.pop() == nullptr);
}

TEST_CASE("pop_gives_messages_in_order") {
  Inbox inbox;
  std::vector<ReceiveBuffer> buffers(3);
  for (ReceiveBuffer& buffer : buffers) inbox.push(buffer);
  CHECK_FALSE(inbox.empty());
  for (ReceiveBuffer& buffer : buffers) CHECK(inbox.pop() == &buffer);
  CHECK(inbox.pop() == nullptr);
  CHECK(inbox.empty());
}

TEST_CASE("buffers_can_be_pushed_again_after_pop") {
  Inbox inbox;
  ReceiveBuffer one;
  ReceiveBuffer two;
  for (int i = 0; i < 10; ++i) {
    inbox.push(one);
    inbox.push(two);
    CHECK(inbox.pop() == &one);
    inbox.push(one);
    CHECK(inbox.pop() == &two);
    CHECK(inbox.pop() == &one);
    CHECK(inbox.pop() == nullptr);
  }
}

TEST_CASE("each_producer_is_served_in_its_order") {
  constexpr std::size_t kProducers = 3;
  constexpr std::size_t kEach = 20'000;
  Inbox inbox;
  std::vector<std::vector<ReceiveBuffer>> buffers(kProducers);
  std::vector<std::thread> producers;
  for (auto& mine : buffers) mine = std::vector<ReceiveBuffer>(kEach);
  for (auto& mine : buffers) {
    producers.emplace_back([&inbox, &mine] {
      for (ReceiveBuffer& buffer : mine) inbox.push(buffer);
    });
  }
  std::vector<std::size_t> next(kProducers, 0);
  std::size_t wrong = 0;
  for (std::size_t taken = 0; taken < kProducers * kEach;) {
    ReceiveBuffer* const buffer = inbox.pop();
    if (buffer == nullptr) {
      std::this_thread::yield();
      continue;
    }
    ++taken;
    for (std::size_t p = 0; p < kProducers; ++p) {
      if (buffer >= buffers[p].data() && buffer < buffers[p].data() + kEach) {
        wrong += buffer != &buffers[p][next[p]++];
      }
    }
  }
  for (std::thread& producer : producers) producer.join();
  CHECK(wrong == 0);
  CHECK(inbox.empty());
}

TEST_CASE("a_message_behind_one_that_is_just_being_pushed_is_there") {
  constexpr std::size_t kRounds = 100'000;
  Inbox inbox;
  ReceiveBuffer mine;
  ReceiveBuffer theirs;
  std::atomic<std::size_t> began{0};
  std::thread producer([&] {
    for (std::size_t round = 1; round <= kRounds; ++round) {
      dtutils::Backoff backoff;
      while (began.load(std::memory_order_acquire) != round) backoff.pause();
      inbox.push(theirs);
    }
  });
  std::size_t hidden = 0;
  for (std::size_t round = 1; round <= kRounds; ++round) {
    began.store(round, std::memory_order_release);
    // The producer needs about as long to see it.
    for (std::size_t i = 0; i < round % 64; ++i) dtutils::cpu_pause();
    inbox.push(mine);
    hidden += inbox.empty();
    dtutils::Backoff backoff;
    for (int taken = 0; taken < 2;) {
      inbox.pop() != nullptr ? static_cast<void>(++taken) : backoff.pause();
    }
  }
  producer.join();
  CHECK(hidden == 0);
  CHECK(inbox.empty());
}
