// SPDX-License-Identifier: MIT
// Finding the launcher by its address.
#include "bootstrap/connect.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "bootstrap/environment.hpp"
#include "dtutils/error.hpp"

namespace dsfabric::rendezvous {
namespace {

using Clock = std::chrono::steady_clock;
using dtutils::Error;

std::pair<std::string, std::string> split(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) {
    throw Error("rendezvous", fmt::format("{} is \"{}\"", kAddressVariable, address),
                "it must be an address and a port, as 127.0.0.1:4711");
  }
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return {host, address.substr(colon + 1)};
}

/// connect(2), which may take minutes where packets are lost, until `by`. The error, or 0.
int connect_until(int fd, const addrinfo& to, Clock::time_point by) {
  if (connect(fd, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(by - Clock::now());
  pollfd waiting{fd, POLLOUT, 0};
  if (poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000))) <= 0) {
    return ETIMEDOUT;
  }
  int code = 0;
  socklen_t size = sizeof code;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size);
  return code;
}

/// The connected socket, or -1 and the error.
std::pair<int, int> try_connect(const addrinfo& to, Clock::time_point by) {
  const int fd = socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int code = fd >= 0 ? connect_until(fd, to, by) : errno;
  if (code == 0) return {fd, 0};
  if (fd >= 0) close(fd);
  return {-1, code};
}

std::string text_of(const addrinfo& address) {
  char text[NI_MAXHOST] = "an address that has no text";
  (void)getnameinfo(address.ai_addr, address.ai_addrlen, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST);
  return text;
}

}  // namespace

std::unique_ptr<Mailbox> connect_to(const std::string& address, Clock::time_point by) {
  const auto [host, port] = split(address);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); code != 0) {
    throw Error(fmt::format("rendezvous at {}", address),
                fmt::format("the address cannot be resolved: {}", gai_strerror(code)),
                "check the host name, and that this machine can resolve it");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  return connect_to_one_of(address, *all, by);
}

std::unique_ptr<Mailbox> connect_to_one_of(const std::string& name, const addrinfo& addresses,
                                           Clock::time_point by) {
  std::int64_t count = 0;
  for (const addrinfo* each = &addresses; each != nullptr; each = each->ai_next) ++count;
  for (;;) {
    bool again = false;
    int last_code = 0;
    std::string last;
    std::int64_t left = count;
    for (const addrinfo* each = &addresses; each != nullptr; each = each->ai_next, --left) {
      // One that loses all packets leaves time for those behind it.
      const auto now = Clock::now();
      const auto [fd, code] =
          try_connect(*each, now + std::max(by - now, Clock::duration(0)) / left);
      if (code == 0) return std::make_unique<Mailbox>(std::make_unique<Connection>(fd));
      again = again || code == ECONNREFUSED || code == EAGAIN || code == ETIMEDOUT;
      last_code = code;
      last = text_of(*each);
    }
    if (!again || Clock::now() >= by) {
      throw Error(
          fmt::format("rendezvous at {}", name),
          count == 1 ? "no server answers there"
                     : fmt::format("no server answers at any of the {} addresses of this host, of "
                                   "which {} is the last",
                                   count, last),
          "check that the launcher still runs, and that no firewall stops the port", last_code);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace dsfabric::rendezvous
