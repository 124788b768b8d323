// SPDX-License-Identifier: MIT
// Finding the launcher by its address.
#include "bootstrap/connect.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
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
  int code = 0;
  int fd = -1;
  do {
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0) break;
    code = errno;
    if (fd >= 0) close(fd);
    fd = -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (Clock::now() < by && (code == ECONNREFUSED || code == EAGAIN || code == ETIMEDOUT));
  freeaddrinfo(found);
  if (fd < 0) {
    throw Error(fmt::format("rendezvous at {}", address), "no server answers there",
                "check that the launcher still runs, and that no firewall "
                "stops the port",
                code);
  }
  return std::make_unique<Mailbox>(std::make_unique<Connection>(fd));
}

}  // namespace dsfabric::rendezvous
