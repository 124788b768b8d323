// SPDX-License-Identifier: MIT
// Names of this library in the abstract namespace of Unix-domain sockets.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace preload {

/// What all names of this user begin with, a port's as well as a connection's.
inline std::string local_prefix() { return "cariama-preload/" + std::to_string(geteuid()) + "/"; }

/// What the name of a broker has behind the prefix, before its port.
inline constexpr char kBrokerName[] = "broker/";

/// A name of this user, in this network namespace.
struct LocalName {
  sockaddr_un address{};
  socklen_t length = 0;

  explicit LocalName(std::string_view text) {
    const std::string full = local_prefix() + std::string(text);
    address.sun_family = AF_UNIX;
    const std::size_t bytes = std::min(full.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, full.data(), bytes);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  }
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }
};

}  // namespace preload
