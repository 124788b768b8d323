// SPDX-License-Identifier: MIT
// TCP sockets: who listens, and who of several addresses answers.
#include "dtutils/tcp.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <thread>

#include "dtutils/error.hpp"
#include "dtutils/poll_until.hpp"
#include "tcp_address.hpp"

namespace dtutils {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Between two rounds through all addresses of a host.
constexpr std::chrono::milliseconds kRound{20};

[[noreturn]] void no_descriptor(std::string_view object, int code) {
  throw Error(object, "no socket can be made", "raise the limit of descriptors (ulimit -n)", code);
}

bool is_starved(int code) noexcept { return code == EMFILE || code == ENFILE; }

/// Whether the same call to the same address fails until somebody changes this host.
bool is_hopeless(int code) noexcept {
  return code == ENETUNREACH || code == EAFNOSUPPORT || code == EACCES || code == EPERM ||
         code == EINVAL;
}

int close_with(int fd, int code) noexcept {
  if (fd >= 0) close(fd);
  errno = code;
  return -1;
}

int make_socket(const TcpAddress& address) noexcept {
  return socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/// A socket that listens, or -1 with errno.
int listen_at(const TcpAddress& address, bool both_families, int backlog) noexcept {
  const int fd = make_socket(address);
  if (fd < 0) return -1;
  const int on = 1;
  const int off = 0;
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (both_families && address.storage.ss_family == AF_INET6) {
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (bind(fd, address.raw(), address.size) == 0 && listen(fd, backlog) == 0) return fd;
  return close_with(fd, errno);
}

/// 0 when a socket that connects has done so by `end`, or an errno value.
int wait_until_connected(int fd, SteadyClock::time_point end) noexcept {
  const int ready = poll_until(fd, POLLOUT, end);
  if (ready < 0) return errno;
  return ready > 0 ? socket_error(fd) : ETIMEDOUT;
}

/// A connected socket, or -1 with errno.
int connect_by(const TcpAddress& to, SteadyClock::time_point end) noexcept {
  const int fd = begin_connect_tcp(to);
  if (fd < 0) return -1;
  const int code = wait_until_connected(fd, end);
  return code == 0 ? fd : close_with(fd, code);
}

[[noreturn]] void nobody_answers(std::string_view object, std::span<const TcpAddress> to,
                                 int code) {
  throw Error(object,
              to.size() == 1
                  ? "nobody answers there"
                  : fmt::format("nobody answers at any of the {} addresses of this host, of which "
                                "{} is the last",
                                to.size(), to.back().host()),
              "check that the other side listens, and that no firewall stops the port", code);
}

}  // namespace

int listen_tcp(std::string_view object, const HostPort& at, int backlog) {
  int code = 0;
  for (const TcpAddress& address : tcp::addresses_of(object, at, true)) {
    const int fd = listen_at(address, at.host.empty(), backlog);
    if (fd >= 0) return fd;
    code = errno;
    if (is_starved(code)) no_descriptor(object, code);
    // A host that has one family only, or a name that has one here.
    if (code != EADDRNOTAVAIL && code != EAFNOSUPPORT) break;
  }
  throw Error(object, "nobody can listen there",
              code == EADDRINUSE ? "another program uses the port: take another one, or 0 for any"
              : code == EACCES   ? "ports below 1024 are for the system: take another one"
                                 : "check that the address belongs to this machine",
              code);
}

int connect_tcp(std::string_view object, const HostPort& to, SteadyClock::time_point end) {
  return connect_tcp(object, resolve_tcp(object, to), end);
}

int connect_tcp(std::string_view object, std::span<const TcpAddress> to,
                SteadyClock::time_point end) {
  // So that no difference of times is too large for its type.
  end = std::max(end, SteadyClock::now());
  for (;;) {
    bool is_hope = false;
    int code = 0;
    for (std::size_t i = 0; i < to.size(); ++i) {
      const auto now = SteadyClock::now();
      const auto share = std::max(end - now, SteadyClock::duration(0)) /
                         static_cast<std::ptrdiff_t>(to.size() - i);
      const int fd = connect_by(to[i], now + share);
      if (fd >= 0) return fd;
      code = errno;
      if (is_starved(code)) no_descriptor(object, code);
      is_hope = is_hope || !is_hopeless(code);
    }
    const auto now = SteadyClock::now();
    if (!is_hope || now >= end) nobody_answers(object, to, code);
    std::this_thread::sleep_for(std::min<SteadyClock::duration>(kRound, end - now));
  }
}

int begin_connect_tcp(const TcpAddress& to) noexcept {
  const int fd = make_socket(to);
  if (fd < 0 || connect(fd, to.raw(), to.size) == 0 || errno == EINPROGRESS || errno == EINTR) {
    return fd;
  }
  return close_with(fd, errno);
}

int socket_error(int socket) noexcept {
  int code = 0;
  socklen_t size = sizeof code;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : errno;
}

std::uint16_t tcp_port(int socket) noexcept {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  (void)getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size);
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  return ntohs(reinterpret_cast<const sockaddr_in*>(&at)->sin_port);
}

}  // namespace dtutils
