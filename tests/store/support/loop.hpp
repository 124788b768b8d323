// SPDX-License-Identifier: MIT
// Members of a store without a fabric: messages that are delivered when a test says so.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "store/engine.hpp"
#include "store/support/state.hpp"

namespace support {

/// An order of messages for engines, which takes turns as the test wants.
class Loop {
 public:
  explicit Loop(std::size_t members, std::size_t max_message = 4096, std::size_t max_command = 0) {
    for (std::size_t i = 0; i < members; ++i) {
      engines_.push_back(std::make_unique<store::Engine>(
          store::Engine::Options{.max_message = max_message,
                                 .max_command = max_command,
                                 .sender = static_cast<std::uint16_t>(i),
                                 .clock = [this] { return now; }}));
    }
  }
  store::Engine& operator[](std::size_t member) { return *engines_[member]; }

  /// What waits at a member goes into the order; how many messages.
  std::size_t send(std::size_t member) {
    std::size_t count = 0;
    for (;; ++count) {
      const auto bytes = engines_[member]->message();
      if (bytes.empty()) return count;
      order_.push_back({member, {bytes.begin(), bytes.end()}});
      engines_[member]->sent();
    }
  }
  /// Delivers all of the order to all; or only so many messages.
  void deliver(std::size_t most = ~std::size_t{0}) {
    for (; !order_.empty() && most != 0; order_.pop_front(), --most) {
      for (std::size_t i = 0; i < engines_.size(); ++i) {
        engines_[i]->deliver(order_.front().bytes, i == order_.front().sender);
      }
    }
  }
  /// What is in the order comes to nobody.
  void drop() { order_.clear(); }
  void settle() {
    for (std::size_t i = 0; i < engines_.size(); ++i) send(i);
    deliver();
  }

  std::uint64_t now = 1000;

 private:
  struct Message {
    std::size_t sender;
    std::vector<std::byte> bytes;
  };
  std::vector<std::unique_ptr<store::Engine>> engines_;
  std::deque<Message> order_;
};

/// A client of one engine.
class TestClient : public store::Client {
 public:
  explicit TestClient(store::Engine& engine) : Client(engine.max_command()), engine_(engine) {}
  ~TestClient() {
    engine_.closed(*this);
    (void)engine_.take_marked();
  }
  void say(std::string_view command) { engine_.command(*this, words_of(command)); }
  /// What has come since the last call.
  std::string heard() { return one_line(std::exchange(out, {})); }

 private:
  store::Engine& engine_;
};

}  // namespace support
