// SPDX-License-Identifier: MIT
// epoll(7), and what is watched by it.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "proxy/socket.hpp"

namespace proxy {

/// What is told of the events of a descriptor. It outlives the batch of events in which it is taken
/// away.
class Watched {
 public:
  /// `events` as of epoll_wait(2).
  virtual void ready(std::uint32_t events) = 0;

 protected:
  ~Watched() = default;
};

/// Level-triggered. Owner thread only.
class Poller {
 public:
  /// Throws dtutils::Error. Setup only.
  Poller();

  void add(int fd, std::uint32_t events, Watched& watched) noexcept;
  /// With no events, `watched` is still told, in each turn, of a connection that has broken.
  void change(int fd, std::uint32_t events, Watched& watched) noexcept;
  /// Nothing is told of it until it is added again.
  void remove(int fd) noexcept;
  /// Waits for events for so many milliseconds at most. A signal ends it.
  void wait(int timeout) noexcept;
  /// Tells of the events that wait() has found.
  void dispatch();

 private:
  static constexpr std::size_t kBatch = 256;

  Socket epoll_;
  std::array<epoll_event, kBatch> events_;
  std::size_t count_ = 0;
};

}  // namespace proxy
