// SPDX-License-Identifier: MIT
// Listener: accept(2), and the descriptor in reserve.
#include "bootstrap/listener.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "dtutils/error.hpp"
#include "dtutils/tcp.hpp"

namespace dsfabric::rendezvous {
namespace {

int open_listener(const std::string& address, std::uint16_t port) {
  const dtutils::HostPort at{address, port};
  const std::string object = fmt::format("rendezvous at {}", at.text());
  if (!at.is_literal()) {
    throw dtutils::Error(object, "this is no IP address",
                         "give a literal address of this machine, as 127.0.0.1");
  }
  return dtutils::listen_tcp(object, at, SOMAXCONN);
}

}  // namespace

Listener::Listener(const std::string& address, std::uint16_t port)
    : fd_(open_listener(address, port)), port_(dtutils::tcp_port(fd_)) {
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
