// SPDX-License-Identifier: MIT
// Questions to the kernel about a TCP socket.
#include "kernel_socket.hpp"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "kernel_poll.hpp"
#include "real.hpp"

namespace preload {
namespace {

std::optional<tcp_info> info_of(int fd) noexcept {
  tcp_info info{};
  socklen_t length = sizeof info;
  // A kernel of before 4.19 does not know the last of the members that are read here.
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
      length < offsetof(tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans) {
    return std::nullopt;
  }
  return info;
}

/// States of a connection whose peer has sent its FIN, which the kernel counts as a byte.
bool has_received_fin(std::uint8_t state) noexcept {
  enum : std::uint8_t { kTimeWait = 6, kCloseWait = 8, kLastAck = 9, kClosing = 11 };
  return state == kTimeWait || state == kCloseWait || state == kLastAck || state == kClosing;
}

void append_hex(std::string& text, std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
}

/// One side: the same text whether the program uses IPv4 or IPv6 sockets for IPv4.
bool append_side(std::string& text, const sockaddr_storage& side) {
  in_port_t port;
  if (side.ss_family == AF_INET) {
    sockaddr_in address;
    std::memcpy(&address, &side, sizeof address);
    port = address.sin_port;
    append_hex(text, {reinterpret_cast<const std::uint8_t*>(&address.sin_addr), 4});
  } else if (side.ss_family == AF_INET6) {
    sockaddr_in6 address;
    std::memcpy(&address, &side, sizeof address);
    port = address.sin6_port;
    const std::span<const std::uint8_t> bytes(address.sin6_addr.s6_addr);
    append_hex(text, IN6_IS_ADDR_V4MAPPED(&address.sin6_addr) ? bytes.subspan(12) : bytes);
  } else {
    return false;
  }
  text += ':';
  append_hex(text, {reinterpret_cast<const std::uint8_t*>(&port), sizeof port});
  return true;
}

/// What one of the two functions says; of no family when it fails.
sockaddr_storage address_of(int fd, decltype(&getsockname) ask) noexcept {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (ask(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  return address;
}

std::chrono::microseconds limit_of(int fd, int option) noexcept {
  timeval limit{};
  socklen_t length = sizeof limit;
  if (getsockopt(fd, SOL_SOCKET, option, &limit, &length) != 0) return {};
  return std::chrono::seconds(limit.tv_sec) + std::chrono::microseconds(limit.tv_usec);
}

}  // namespace

std::optional<std::uint64_t> bytes_written(int fd) noexcept {
  const auto info = info_of(fd);
  if (!info) return std::nullopt;
  return info->tcpi_bytes_sent - info->tcpi_bytes_retrans + info->tcpi_notsent_bytes;
}

std::optional<std::uint64_t> bytes_read(int fd) noexcept {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const auto before = info_of(fd);
    int waiting = 0;
    if (real().ioctl(fd, FIONREAD, &waiting) != 0) return std::nullopt;
    const auto after = info_of(fd);
    if (!before || !after) return std::nullopt;
    // Bytes that arrive between the questions would be counted by one of them.
    if (before->tcpi_bytes_received != after->tcpi_bytes_received ||
        before->tcpi_state != after->tcpi_state) {
      continue;
    }
    const auto unread = static_cast<std::uint64_t>(waiting);
    return after->tcpi_bytes_received - unread - (has_received_fin(after->tcpi_state) ? 1 : 0);
  }
  return std::nullopt;
}

bool has_ended(int fd) noexcept {
  constexpr std::uint8_t kClosed = 7;
  const auto info = info_of(fd);
  return !info || info->tcpi_state == kClosed || has_received_fin(info->tcpi_state);
}

short levels(int fd, short events) noexcept {
  pollfd entry{fd, events, 0};
  const timespec now{};
  return poll_kernel(&entry, 1, &now, nullptr) > 0 ? entry.revents : short{0};
}

Manner manner_of(int fd) noexcept {
  return {is_non_blocking(fd), limit_of(fd, SO_RCVTIMEO), limit_of(fd, SO_SNDTIMEO)};
}

bool is_non_blocking(int fd) noexcept { return (real().fcntl(fd, F_GETFL) & O_NONBLOCK) != 0; }

void let_close_reset(int fd) noexcept {
  const linger none{1, 0};
  real().setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

void reset(int fd) noexcept {
  const sockaddr nowhere{AF_UNSPEC, {}};
  real().connect(fd, &nowhere, sizeof nowhere);
}

bool is_tcp(int fd) noexcept {
  int family = 0;
  int protocol = 0;
  socklen_t length = sizeof family;
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length) != 0) return false;
  length = sizeof protocol;
  return (family == AF_INET || family == AF_INET6) &&
         getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 &&
         protocol == IPPROTO_TCP;
}

bool asks_for_tcp(int level, int option, const void* value, socklen_t length) noexcept {
  if (level == IPPROTO_TCP) return option == TCP_ULP;
  int number = 0;
  if (level != SOL_SOCKET || length < sizeof number) return false;
  if (option == SO_ZEROCOPY || option == SO_TIMESTAMPING_OLD || option == SO_TIMESTAMPING_NEW) {
    std::memcpy(&number, value, sizeof number);
    return number != 0;
  }
  if (option != SO_RCVLOWAT) return false;
  std::memcpy(&number, value, sizeof number);
  return number > 1;
}

bool needs_tcp(int fd) noexcept {
  if ((real().fcntl(fd, F_GETFL) & O_ASYNC) != 0) return true;
  for (const int option : {SO_ZEROCOPY, SO_TIMESTAMPING_OLD, SO_RCVLOWAT}) {
    int value = 0;
    socklen_t length = sizeof value;
    if (getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 &&
        asks_for_tcp(SOL_SOCKET, option, &value, length)) {
      return true;
    }
  }
  std::array<char, 16> name{};
  socklen_t length = name.size();
  return getsockopt(fd, IPPROTO_TCP, TCP_ULP, name.data(), &length) == 0 && length != 0;
}

bool has_two_addresses(int fd) noexcept {
  if (!is_tcp(fd)) return false;
  const sockaddr_storage here = address_of(fd, getsockname);
  const sockaddr_storage there = peer_of(fd);
  return here.ss_family == there.ss_family && host_of(here) != host_of(there);
}

sockaddr_storage peer_of(int fd) noexcept { return address_of(fd, getpeername); }

std::string host_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, &address, sizeof in);
    return {reinterpret_cast<const char*>(&in.sin_addr), sizeof in.sin_addr};
  }
  sockaddr_in6 in;
  std::memcpy(&in, &address, sizeof in);
  return {reinterpret_cast<const char*>(&in.sin6_addr), sizeof in.sin6_addr};
}

void keep_alive(int fd) noexcept {
  const int on = 1;
  const int idle = 60;
  const int interval = 10;
  const int tries = 3;
  real().setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  real().setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  real().setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  real().setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
}

std::string meeting_name(int fd, bool connected_here) {
  const sockaddr_storage here = address_of(fd, getsockname);
  const sockaddr_storage there = peer_of(fd);
  std::string name = "p3/";
  if (!append_side(name, connected_here ? here : there)) return {};
  name += '-';
  if (!append_side(name, connected_here ? there : here)) return {};
  return name;
}

}  // namespace preload
