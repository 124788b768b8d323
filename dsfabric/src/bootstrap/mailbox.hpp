// SPDX-License-Identifier: MIT
// What the launcher sends to a process, sorted for the two threads that may wait for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "bootstrap/frame.hpp"
#include "dtutils/wake_fd.hpp"

namespace dsfabric::rendezvous {

/// The connection of a process to the launcher. One thread may wait for the answers of an exchange
/// while another one takes news (letters, and obituaries): whoever looks first reads for both, and
/// wakes the other one.
class Mailbox {
 public:
  /// Throws Error when no descriptors are left. Setup only.
  explicit Mailbox(std::unique_ptr<Connection> connection);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox();

  /// Queues a frame, and sends what the socket takes. Never waits. Throws std::bad_alloc. Any
  /// thread.
  void send(Type type, std::span<const std::byte> body);

  enum class Outcome { kFrame, kClosed, kLate };
  /// The next frame that is no news; kClosed: the launcher has closed the connection, and nothing
  /// is left; kLate: `by` has passed. One thread at a time.
  Outcome wait_for_answer(Frame& answer, std::chrono::steady_clock::time_point by);

  /// The next news, if it is of that type, kFailed, kLetter or kEvent. An obituary without a rank
  /// is that of the launcher: the connection has ended. Never waits. Throws std::bad_alloc. One
  /// thread at a time.
  std::optional<Frame> next_news(Type type);
  /// Readable when there may be news.
  int news_fd() const noexcept { return epoll_; }

 private:
  /// Reads what has come, and sorts it. Under the lock.
  void read();
  /// Frames that the socket did not take are sent when there is room. Under the lock.
  void watch_for_room() noexcept;

  std::mutex mutex_;
  std::unique_ptr<Connection> connection_;
  std::deque<Frame> answers_;
  std::deque<Frame> news_;
  bool closed_ = false;
  bool wants_room_ = false;
  /// For whoever waits for an answer, and for news.
  dtutils::WakeFd answered_;
  dtutils::WakeFd informed_;
  /// Of the connection and of informed_.
  int epoll_;
};

}  // namespace dsfabric::rendezvous
