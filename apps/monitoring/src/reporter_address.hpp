// SPDX-License-Identifier: MIT
// Where a Reporter listens, and where programs ask it.
#pragma once

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace monitoring::detail {

/// What the names of the Reporters of a user begin with; the process id follows. Of the abstract
/// namespace (unix(7)), without the zero byte in front.
inline std::string reporter_prefix(unsigned user) { return fmt::format("cariama-top.{}.", user); }

struct ReporterAddress {
  ReporterAddress(unsigned user, std::uint64_t process) {
    const std::string name = reporter_prefix(user) + std::to_string(process);
    socket.sun_family = AF_UNIX;
    name.copy(socket.sun_path + 1, sizeof socket.sun_path - 1);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* raw() const noexcept { return reinterpret_cast<const sockaddr*>(&socket); }

  sockaddr_un socket{};
  socklen_t length;
};

}  // namespace monitoring::detail
