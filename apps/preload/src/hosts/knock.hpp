// SPDX-License-Identifier: MIT
// How a process asks the broker of another host for the other end of one of its TCP connections.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <string_view>

#include "hosts/settings.hpp"

namespace preload::hosts {

/// How long a visit takes at most.
inline constexpr std::chrono::milliseconds kKnock{1000};

/// What came of a visit.
struct Visit {
  /// A connection to the process that has the other end, which does not block, and which
  /// the caller closes; or -1.
  int socket = -1;
  /// A broker that knows the secret was there.
  bool answered = false;
};

/// Goes to the broker at the host of `peer`, which is an Internet address. To who does not speak
/// as a broker does, nothing is said. Setup only; it waits.
Visit knock(const Settings& settings, const sockaddr_storage& peer,
            std::string_view connection) noexcept;

}  // namespace preload::hosts
