// SPDX-License-Identifier: MIT
// TCP sockets at an address that a user has written.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace streams {

/// A socket that listens there, and does not block. Throws Error. Setup only.
int listen_at(std::string_view address);

/// A connected socket that does not block; tries until `end` while nobody answers. Throws Error.
/// Setup only.
int connect_at(std::string_view address, std::chrono::steady_clock::time_point end);

/// The port that a socket is bound to.
std::uint16_t port_of(int socket) noexcept;

}  // namespace streams
