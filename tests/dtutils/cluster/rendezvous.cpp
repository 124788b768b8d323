// SPDX-License-Identifier: MIT
// Blocking sockets with time limits.
#include "rendezvous.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "support/require.hpp"

namespace cluster {
namespace {

constexpr std::uint16_t kPort = 18515;
/// Guests boot at different speeds.
constexpr std::chrono::seconds kLimit{60};

sockaddr_in address_of(const std::string& text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  support::require(::inet_pton(AF_INET, text.c_str(), &address.sin_addr) == 1,
                   "not an IPv4 address: " + text);
  return address;
}

int make_socket() {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{kLimit.count(), 0};
  const int on = 1;
  support::require(made >= 0 &&
                       ::setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
                       ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0,
                   "no socket");
  return made;
}

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Rendezvous::Rendezvous(int socket) : socket_(socket) {}

Rendezvous::~Rendezvous() { ::close(socket_); }

Rendezvous Rendezvous::listen(const std::string& address) {
  const sockaddr_in own = address_of(address);
  const int listener = make_socket();
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 ||
      ::listen(listener, 1) != 0) {
    fail("cannot listen");
  }
  const int accepted = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (accepted < 0) fail("the other guest has not connected");
  ::close(listener);
  return Rendezvous(accepted);
}

Rendezvous Rendezvous::connect(const std::string& address) {
  const sockaddr_in other = address_of(address);
  int connected = -1;
  const bool met = support::eventually(
      [&] {
        connected = make_socket();
        if (::connect(connected, reinterpret_cast<const sockaddr*>(&other), sizeof other) == 0) {
          return true;
        }
        ::close(connected);
        return false;
      },
      kLimit);
  if (!met) fail("the other guest does not listen");
  return Rendezvous(connected);
}

void Rendezvous::send(const void* data, std::size_t size) {
  if (::send(socket_, data, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) {
    fail("the other guest hung up");
  }
}

void Rendezvous::receive(void* data, std::size_t size) {
  errno = 0;
  if (::recv(socket_, data, size, MSG_WAITALL) != static_cast<ssize_t>(size)) {
    fail("the other guest says nothing");
  }
}

}  // namespace cluster
