// SPDX-License-Identifier: MIT
// getifaddrs(3).
#include "bootstrap/own_addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>

#include "dtutils/error.hpp"

namespace dsfabric::rendezvous {

std::vector<std::string> own_addresses() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) {
    throw dtutils::Error("rendezvous", "the addresses of this host cannot be listed",
                         "check the limits of this process", errno);
  }
  std::vector<std::string> found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != nullptr) {
      found.emplace_back(text);
    }
  }
  freeifaddrs(all);
  return found;
}

std::string own_host_name() {
  char name[256] = "unknown host";
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace dsfabric::rendezvous
