// SPDX-License-Identifier: MIT
// The socket that the launcher listens on, and what it does when no descriptors
// are left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dsfabric::rendezvous {

/// It keeps one descriptor in reserve, so that whoever comes when there are no
/// others can still be taken in, told so, and sent away; else the socket would
/// stay readable, and its owner would spin.
class Listener {
 public:
  /// As Server.
  Listener(const std::string& address, std::uint16_t port);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  int fd() const noexcept { return fd_; }
  std::uint16_t port() const noexcept { return port_; }

  struct Accepted {
    int socket = -1;
    /// Taken in with the reserve: close it, then call `refill`, before the next
    /// accept.
    bool last = false;
  };
  /// The next one who came; empty when there is none, or when it can be had by
  /// no means.
  std::optional<Accepted> accept(bool with_reserve) noexcept;
  /// Whether the last accept() found no descriptor.
  bool starved() const noexcept { return starved_; }
  void refill() noexcept;

 private:
  int fd_ = -1;
  int reserve_ = -1;
  std::uint16_t port_ = 0;
  bool starved_ = false;
};

}  // namespace dsfabric::rendezvous
