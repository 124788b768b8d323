// SPDX-License-Identifier: MIT
// Strangers at the door of a listener, who do not use the library.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "support/require.hpp"

namespace support {

/// The address of the listener that has this name and belongs to that user.
struct DoorAddress {
  DoorAddress(std::string_view name, uid_t user) {
    const std::string full = "cariama-streams/" + std::to_string(user) + "/" + std::string(name);
    socket.sun_family = AF_UNIX;
    std::memcpy(socket.sun_path + 1, full.data(), full.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + full.size());
  }
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&socket); }

  sockaddr_un socket{};
  socklen_t length;
};

/// A connection to a listener of that user, made by hand; -1 when it takes no more of them.
inline int try_knock(std::string_view name, uid_t user = geteuid()) {
  const DoorAddress address(name, user);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (connect(fd, address.raw(), address.length) == 0) {
    fcntl(fd, F_SETFL, 0);
    return fd;
  }
  close(fd);
  return -1;
}

/// The same; fails when there is no connection.
inline int knock(std::string_view name, uid_t user = geteuid()) {
  const int fd = try_knock(name, user);
  require(fd >= 0, "the door is closed");
  return fd;
}

}  // namespace support
