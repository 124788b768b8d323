// SPDX-License-Identifier: MIT
// Names in the abstract namespace of Unix-domain sockets, and the time to live of a SYN.
#include "presence.hpp"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "kernel_socket.hpp"
#include "local_name.hpp"
#include "real.hpp"
#include "signals.hpp"

namespace preload {
namespace {

/// No system begins with this time to live. It matters only to the listener, on this host.
constexpr int kMark = 199;
constexpr std::size_t kSyn = 256;

LocalName name_of_port(in_port_t port) { return LocalName(std::to_string(ntohs(port))); }

/// The port of an Internet address; 0 of any other.
in_port_t port_of(const sockaddr* address, socklen_t length) noexcept {
  if (address == nullptr || length < sizeof(sockaddr_in)) return 0;
  if (address->sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, address, sizeof in);
    return in.sin_port;
  }
  if (address->sa_family != AF_INET6 || length < sizeof(sockaddr_in6)) return 0;
  sockaddr_in6 in;
  std::memcpy(&in, address, sizeof in);
  return in.sin6_port;
}

bool is_stream_socket(int fd) noexcept {
  int type = 0;
  socklen_t length = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

/// The kernel sends to an address of its own from that address. Nothing is sent to find that out.
bool is_own_address(const sockaddr* address, socklen_t length) {
  const int probe = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  sockaddr_storage here{};
  sockaddr_storage there{};
  std::memcpy(&there, address, std::min<std::size_t>(length, sizeof there));
  socklen_t size = sizeof here;
  const bool own = real().connect(probe, address, length) == 0 &&
                   getsockname(probe, reinterpret_cast<sockaddr*>(&here), &size) == 0 &&
                   here.ss_family == there.ss_family && host_of(here) == host_of(there);
  real().close(probe);
  return own;
}

bool is_loopback(const sockaddr* address) noexcept {
  if (address->sa_family != AF_INET) return false;
  sockaddr_in in;
  std::memcpy(&in, address, sizeof in);
  return (ntohl(in.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
}

/// Whether a socket has that name.
bool is_bound(const LocalName& name) noexcept {
  const int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  const bool found = real().connect(probe, name.get(), name.length) == 0;
  real().close(probe);
  return found;
}

}  // namespace

int announce(int fd) noexcept {
  sockaddr_storage here{};
  socklen_t length = sizeof here;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&here), &length) != 0) return -1;
  const in_port_t port = port_of(reinterpret_cast<const sockaddr*>(&here), length);
  const int on = 1;
  if (port == 0 || real().setsockopt(fd, IPPROTO_TCP, TCP_SAVE_SYN, &on, sizeof on) != 0) return -1;
  const int presence = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (presence < 0) return -1;
  const LocalName name = name_of_port(port);
  if (bind(presence, name.get(), name.length) == 0) return presence;
  real().close(presence);
  return -1;
}

bool is_announced(const sockaddr* address, socklen_t length) noexcept {
  const HoldSignals hold;
  const in_port_t port = port_of(address, length);
  if (port == 0 || !is_bound(name_of_port(port))) return false;
  return is_loopback(address) || is_own_address(address, length);
}

bool is_anybody_announced() {
  // The kernel writes "@" for the first byte of an abstract name.
  const std::string prefix = "@" + local_prefix();
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const std::size_t found = line.find(prefix);
    if (found != std::string::npos && line.find(kBrokerName, found) == std::string::npos) {
      return true;
    }
  }
  return false;
}

Mark::Mark(int fd) noexcept : fd_(fd) {
  if (!is_stream_socket(fd)) return;
  const int mark = kMark;
  socklen_t length = sizeof ttl_;
  // An IPv6 socket may connect to an IPv4 address, so it has both.
  if (getsockopt(fd, IPPROTO_IP, IP_TTL, &ttl_, &length) == 0) {
    real().setsockopt(fd, IPPROTO_IP, IP_TTL, &mark, sizeof mark);
  }
  length = sizeof hops_;
  if (getsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &hops_, &length) == 0) {
    real().setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &mark, sizeof mark);
  }
}

Mark::~Mark() {
  if (ttl_ > 0) real().setsockopt(fd_, IPPROTO_IP, IP_TTL, &ttl_, sizeof ttl_);
  if (hops_ > 0) real().setsockopt(fd_, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &hops_, sizeof hops_);
}

bool is_marked(int fd) noexcept {
  std::array<std::uint8_t, kSyn> syn;
  socklen_t length = kSyn;
  if (getsockopt(fd, IPPROTO_TCP, TCP_SAVED_SYN, syn.data(), &length) != 0) return false;
  constexpr std::size_t kTtl = 8;
  constexpr std::size_t kHopLimit = 7;
  if (length <= kTtl) return false;
  return (syn[0] >> 4 == 4 ? syn[kTtl] : syn[kHopLimit]) == kMark;
}

}  // namespace preload
