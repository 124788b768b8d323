// SPDX-License-Identifier: MIT
// The system calls around sockets.
#include "proxy/socket.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "dtutils/error.hpp"

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
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    throw dtutils::Error(text, "it has no port", "write HOST:PORT, for example 127.0.0.1:8080");
  }
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int status =
      ::getaddrinfo(host.empty() ? nullptr : host.c_str(), text.c_str() + colon + 1, &hints, &list);
  if (status != 0) {
    throw dtutils::Error(text, fmt::format("it is no address: {}", ::gai_strerror(status)),
                         "write HOST:PORT, for example 127.0.0.1:8080");
  }
  Address address;
  std::memcpy(&address.storage, list->ai_addr, list->ai_addrlen);
  address.size = list->ai_addrlen;
  ::freeaddrinfo(list);
  return address;
}

Socket listen_on(const std::string& text) {
  const Address address = resolve(text);
  Socket socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  (void)::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!socket ||
      ::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 ||
      ::listen(socket.fd(), kBacklog) != 0) {
    throw dtutils::Error(fmt::format("listen on {}", text), "it is refused",
                         "choose another address or port", errno);
  }
  return socket;
}

std::uint16_t port_of(const Socket& socket) noexcept {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  (void)::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&at), &size);
  // The port is at the same place in addresses of both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&at)->sin_port);
}

std::string peer_of(const Socket& socket) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  std::array<char, NI_MAXHOST> name;
  if (::getpeername(socket.fd(), reinterpret_cast<sockaddr*>(&at), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&at), size, name.data(), name.size(), nullptr,
                    0, NI_NUMERICHOST) != 0) {
    return "-";
  }
  return name.data();
}

Socket accept_from(const Socket& listener) noexcept {
  Socket socket(::accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) send_at_once(socket.fd());
  return socket;
}

Socket connect_to(const Address& address) noexcept {
  Socket socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return socket;
  send_at_once(socket.fd());
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) !=
          0 &&
      errno != EINPROGRESS) {
    socket.close();
  }
  return socket;
}

int error_of(const Socket& socket) noexcept {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

}  // namespace proxy
