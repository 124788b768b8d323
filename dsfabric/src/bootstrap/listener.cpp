// SPDX-License-Identifier: MIT
// Listener: bind(2), accept(2), and the descriptor in reserve.
#include "bootstrap/listener.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "dtutils/error.hpp"

namespace dsfabric::rendezvous {
namespace {

int open_listener(const std::string& address, std::uint16_t port) {
  const auto refuse = [&](const char* happened, const char* remedy, int code) {
    throw dtutils::Error(fmt::format("rendezvous at {}:{}", address, port), happened, remedy, code);
  };
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    refuse("this is no IP address", "give a literal address of this machine, as 127.0.0.1", 0);
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool bound =
      fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0;
  const int code = errno;
  freeaddrinfo(found);
  if (!bound) {
    if (fd >= 0) close(fd);
    refuse("cannot listen there",
           code == EADDRINUSE ? "another program uses the port: choose another one, or 0 for any"
                              : "check that the address belongs to this machine",
           code);
  }
  return fd;
}

std::uint16_t port_of(int fd) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
  // The port lies at the same place in IPv4 and IPv6 addresses.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

}  // namespace

Listener::Listener(const std::string& address, std::uint16_t port)
    : fd_(open_listener(address, port)), port_(port_of(fd_)) {
  refill();
}

Listener::~Listener() {
  close(fd_);
  if (reserve_ >= 0) close(reserve_);
}

std::optional<Listener::Accepted> Listener::accept(bool with_reserve) noexcept {
  const bool last = with_reserve && reserve_ >= 0;
  if (last) close(std::exchange(reserve_, -1));
  const int socket = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  starved_ =
      socket < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  if (socket < 0) {
    if (last) refill();
    return std::nullopt;
  }
  return Accepted{socket, last};
}

void Listener::refill() noexcept {
  if (reserve_ < 0) reserve_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

}  // namespace dsfabric::rendezvous
