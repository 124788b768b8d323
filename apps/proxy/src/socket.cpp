// SPDX-License-Identifier: MIT
// The system calls around sockets.
#include "proxy/socket.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <string_view>

namespace proxy {
namespace {

constexpr int kBacklog = 4096;

void send_at_once(int fd) noexcept {
  const int on = 1;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

void Socket::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Socket::reset() noexcept {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  if (fd_ >= 0) (void)::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

Address resolve(const std::string& text) {
  return dtutils::resolve_tcp(text, dtutils::parse_host_port(text, text)).front();
}

Socket listen_on(const std::string& text) {
  const std::string object = fmt::format("listen on {}", text);
  return Socket(dtutils::listen_tcp(object, dtutils::parse_host_port(object, text), kBacklog));
}

std::uint16_t port_of(const Socket& socket) noexcept { return dtutils::tcp_port(socket.fd()); }

std::string peer_of(const Socket& socket) {
  Address peer;
  peer.size = sizeof peer.storage;
  if (::getpeername(socket.fd(), reinterpret_cast<sockaddr*>(&peer.storage), &peer.size) != 0) {
    return "-";
  }
  // So a socket for both families names a peer of IPv4.
  constexpr std::string_view kMapped = "::ffff:";
  std::string host = peer.host();
  if (host.starts_with(kMapped) && host.find('.') != std::string::npos) {
    host.erase(0, kMapped.size());
  }
  return host;
}

Socket accept_from(const Socket& listener) noexcept {
  Socket socket(::accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) send_at_once(socket.fd());
  return socket;
}

Socket connect_to(const Address& address) noexcept {
  Socket socket(dtutils::begin_connect_tcp(address));
  if (socket) send_at_once(socket.fd());
  return socket;
}

int error_of(const Socket& socket) noexcept { return dtutils::socket_error(socket.fd()); }

}  // namespace proxy
