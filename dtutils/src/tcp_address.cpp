// SPDX-License-Identifier: MIT
// Addresses of TCP: their text, getaddrinfo(3), and getifaddrs(3).
#include "tcp_address.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "dtutils/error.hpp"
#include "dtutils/parse_number.hpp"

namespace dtutils {
namespace {

constexpr char kRemedy[] = "write HOST:PORT, for example 10.0.0.7:4711 or [fd00::7]:4711";

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// What getaddrinfo(3) finds, or nothing and its code.
AddressList look_up(const HostPort& of, int flags, int& code) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  code = getaddrinfo(of.host.empty() ? nullptr : of.host.c_str(), std::to_string(of.port).c_str(),
                     &hints, &found);
  return {code == 0 ? found : nullptr, &freeaddrinfo};
}

std::uint16_t port_in(std::string_view object, std::string_view text) {
  if (const auto port = parse_number<std::uint16_t>(text)) return *port;
  throw Error(object, fmt::format("\"{}\" is no port: it is a number from 0 to 65535", text),
              kRemedy);
}

}  // namespace

std::string HostPort::text() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

bool HostPort::is_literal() const {
  int code = 0;
  return !host.empty() && look_up(*this, AI_NUMERICHOST, code) != nullptr;
}

HostPort parse_host_port(std::string_view object, std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool has_brackets = text.starts_with('[');
  if (colon == std::string_view::npos || (has_brackets && text.find(']') > colon)) {
    throw Error(object, "it has no port", kRemedy);
  }
  std::string_view host = text.substr(0, colon);
  if (has_brackets) {
    if (!host.ends_with(']') || host.find(':') == std::string_view::npos) {
      throw Error(object, "the brackets hold no IPv6 address", kRemedy);
    }
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    throw Error(object, "an IPv6 address has brackets before its port", kRemedy);
  }
  return {std::string(host), port_in(object, text.substr(colon + 1))};
}

std::string TcpAddress::host() const {
  char text[NI_MAXHOST] = "an address that has no text";
  (void)getnameinfo(raw(), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

std::vector<TcpAddress> resolve_tcp(std::string_view object, const HostPort& to) {
  if (to.host.empty()) throw Error(object, "it has no host", kRemedy);
  if (to.port == 0) throw Error(object, "nobody can connect to port 0", kRemedy);
  return tcp::addresses_of(object, to, false);
}

std::vector<TcpAddress> tcp::addresses_of(std::string_view object, const HostPort& of,
                                          bool is_passive) {
  int code = 0;
  const AddressList found = look_up(of, is_passive ? AI_PASSIVE : 0, code);
  if (code != 0) {
    throw Error(object, fmt::format("the address cannot be resolved: {}", gai_strerror(code)),
                "check the name of the host, and that this machine can resolve it");
  }
  std::vector<TcpAddress> all;
  // A socket of IPv6 listens for both.
  std::vector<TcpAddress> behind;
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    const bool waits = of.host.empty() && each->ai_family != AF_INET6;
    TcpAddress& address = (waits ? behind : all).emplace_back();
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
  }
  all.insert(all.end(), behind.begin(), behind.end());
  return all;
}

std::vector<std::string> own_ipv4_addresses() {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) {
    throw Error("host", "its addresses cannot be listed", "check the limits of this process",
                errno);
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(found, &freeifaddrs);
  std::vector<std::string> texts;
  for (const ifaddrs* each = all.get(); each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    TcpAddress address;
    address.size = sizeof(sockaddr_in);
    std::memcpy(&address.storage, each->ifa_addr, address.size);
    texts.push_back(address.host());
  }
  return texts;
}

}  // namespace dtutils
