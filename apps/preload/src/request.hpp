// SPDX-License-Identifier: MIT
// A connection that wants a stream, and the threads of the library that see to it.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "signals.hpp"
#include "streams/streams.hpp"
#include "waiting.hpp"

namespace preload {

class Connection;

/// How long the other side, which is there, may take.
inline constexpr std::chrono::milliseconds kMeeting{5000};

/// Made by the thread of the program that asks, and then owned by a thread of the library.
struct Request {
  using Clock = std::chrono::steady_clock;

  Connection* connection;
  std::uint64_t generation;
  std::string name;
  streams::StreamOptions options;
  /// Of another host. Such a request is given up at `end`.
  bool other_host = false;
  sockaddr_storage peer{};
  Clock::time_point end{};
  /// Of the side that waits for the other one.
  std::unique_ptr<Waiting> waiting;
  /// Of the side that goes to another host: when, and how long it waits after that.
  Clock::time_point next_visit{};
  Clock::duration pause{};
};

/// The connection is still the one that asked, and waits for the answer.
bool is_still_wanted(const Request& request);
/// Gives the connection its stream, or nothing. The stream is destroyed without the lock.
void finish(const Request& request, std::unique_ptr<streams::Stream> stream);
/// Descriptors of streams shall not take those that the program needs.
bool leaves_descriptors(int fd) noexcept;

/// A list of requests, and a thread that takes them. It lives until the process ends.
class Worker {
 public:
  /// The thread calls `body(worker)`, which does not return.
  template <class Body>
  explicit Worker(Body body) : Worker() {
    start([this, body] { body(*this); });
  }

  void ask(Request request);
  std::vector<Request> take();
  /// Whether it was woken since the last time.
  bool take_wakes() noexcept;
  /// The eventfd by which others wake it.
  int wake() const noexcept { return wake_; }
  /// Sleeps until there are requests or one of the descriptors is readable; at most for that time,
  /// if one is given. Which of the descriptors are.
  std::vector<bool> sleep(const std::vector<int>& descriptors,
                          const Request::Clock::duration* limit);

 private:
  Worker();
  void start(std::function<void()> body);

  Mutex mutex_;
  std::vector<Request> requests_;
  int wake_;
};

}  // namespace preload
