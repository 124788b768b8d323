// SPDX-License-Identifier: MIT
// The queue of messages that wait for one thread.
#include "threads/inbox.hpp"

#include <thread>
#include <vector>

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
