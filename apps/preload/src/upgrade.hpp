// SPDX-License-Identifier: MIT
// How the two sides of a TCP connection come to a stream, while the program uses TCP.
#pragma once

#include <sys/socket.h>

namespace preload {

class Connection;

/// Lets a thread of the library make a stream for `connection`, whose mutex the caller holds. The
/// side that connected listens under the connection's name (`meeting_name`), the other one comes.
/// Between hosts the side that accepted waits, and the other one comes through the broker there.
/// When nobody is there, the connection stays as it is.
void ask_for_stream(Connection& connection, int fd) noexcept;

/// Around fork(2): the child begins with no thread and no device.
void lock_upgrades_for_fork() noexcept;
void unlock_upgrades_in_parent() noexcept;
void forget_upgrades_in_child() noexcept;

}  // namespace preload
