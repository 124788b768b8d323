// SPDX-License-Identifier: MIT
// Sockets of TCP: owned, listening, connecting.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <utility>

#include "dtutils/tcp.hpp"

namespace proxy {

/// Owns a descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) noexcept : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() { close(); }

  int fd() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void close() noexcept;
  /// Ends the connection so that the other side sees an error, not the end of the data.
  void reset() noexcept;

 private:
  int fd_ = -1;
};

/// An address of TCP, IPv4 or IPv6.
using Address = dtutils::TcpAddress;

/// "host:port" or "[::1]:port": the first address of the host. Throws dtutils::Error for anything
/// else, and for a name that is not known. Setup only.
Address resolve(const std::string& text);

/// At "host:port", "[::1]:port" or, on all addresses of this host, ":port". Throws dtutils::Error.
/// Setup only.
Socket listen_on(const std::string& text);
/// The port that a socket is bound to.
std::uint16_t port_of(const Socket& socket) noexcept;
/// Where the other end is, without its port: "127.0.0.1".
std::string peer_of(const Socket& socket);

/// The next connection, not blocking; none when there is none, with errno.
Socket accept_from(const Socket& listener) noexcept;
/// Begins to connect, not blocking; none when that fails at once.
Socket connect_to(const Address& address) noexcept;
/// 0, or what went wrong with a connection since.
int error_of(const Socket& socket) noexcept;

}  // namespace proxy
