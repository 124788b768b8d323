// SPDX-License-Identifier: MIT
// getaddrinfo(3), and who of what it found listens or answers.
#include "network_address.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>

#include "dtutils/error.hpp"
#include "meeting.hpp"

namespace streams {
namespace {

using Clock = std::chrono::steady_clock;
using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

constexpr int kBacklog = 128;
/// Between two rounds through all addresses of a name.
constexpr std::chrono::milliseconds kRetryAddress{20};

std::string about(std::string_view address) { return "stream at " + std::string(address); }

Addresses resolve(std::string_view address, int flags) {
  const auto refuse = [&](const std::string& happened) {
    throw dtutils::Error(about(address), happened, "write HOST:PORT, for example 10.0.0.7:4711");
  };
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) refuse("it has no port");
  std::string host(address.substr(0, colon));
  const std::string port(address.substr(colon + 1));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  if (host.empty() && (flags & AI_PASSIVE) == 0) refuse("it has no host");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found);
  if (code != 0) refuse(std::string("it is no address: ") + gai_strerror(code));
  return {found, &freeaddrinfo};
}

int make_socket(const addrinfo& address) {
  const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  const int fd = socket(address.ai_family, type, 0);
  if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
    throw dtutils::Error("stream", "no socket could be made",
                         "raise the limit of descriptors (ulimit -n)", errno);
  }
  return fd;
}

/// 0 or an errno value.
int connect_by(int fd, const addrinfo& address, Clock::time_point end) noexcept {
  if (connect(fd, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (poll_until(fd, POLLOUT, end) <= 0) return ETIMEDOUT;
  int code = 0;
  socklen_t size = sizeof code;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : errno;
}

}  // namespace

int listen_at(std::string_view address) {
  const Addresses all = resolve(address, AI_PASSIVE);
  const int fd = make_socket(*all);
  const int on = 1;
  if (fd >= 0) (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (fd < 0 || bind(fd, all->ai_addr, all->ai_addrlen) != 0 || listen(fd, kBacklog) != 0) {
    const int code = errno;
    if (fd >= 0) close(fd);
    throw dtutils::Error(about(address), "nobody can listen there",
                         code == EADDRINUSE ? "take another port, or 0 for any"
                                            : "see that the address is one of this host",
                         code);
  }
  return fd;
}

int connect_at(std::string_view address, Clock::time_point end) {
  const Addresses all = resolve(address, 0);
  std::ptrdiff_t count = 0;
  for (const addrinfo* each = all.get(); each != nullptr; each = each->ai_next) ++count;
  for (;;) {
    int code = 0;
    std::ptrdiff_t left = count;
    for (const addrinfo* each = all.get(); each != nullptr; each = each->ai_next, --left) {
      const int fd = make_socket(*each);
      // One that loses all packets leaves time for those behind it.
      const Clock::time_point now = Clock::now();
      const auto share = std::max(end - now, Clock::duration(0)) / left;
      code = fd < 0 ? errno : connect_by(fd, *each, now + share);
      if (code == 0) return fd;
      if (fd >= 0) close(fd);
    }
    if (Clock::now() >= end) {
      throw dtutils::Error(about(address), "nobody answers there",
                           "see that the other side listens, and that no firewall is between",
                           code);
    }
    std::this_thread::sleep_for(std::min<Clock::duration>(kRetryAddress, end - Clock::now()));
  }
}

std::uint16_t port_of(int socket) noexcept {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  (void)getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size);
  // The port lies at the same place in addresses of both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&at)->sin_port);
}

}  // namespace streams
