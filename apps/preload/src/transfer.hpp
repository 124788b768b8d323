// SPDX-License-Identifier: MIT
// Sending and receiving as the calls of the C library do: waiting, time limits, signals.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <span>

namespace preload {

/// Whether `fd` is a connection that this library looks at. Any thread, wait-free.
bool is_connection(int fd) noexcept;

/// As recvmsg(2) without an address and control data. Any thread.
ssize_t receive(int fd, std::span<const iovec> buffers, int flags);
/// As sendmsg(2). Any thread.
ssize_t send(int fd, std::span<const iovec> buffers, int flags);
/// As sendfile(2), to a connection. Any thread.
ssize_t send_file(int fd, int file, off64_t* offset, std::size_t length) noexcept;

}  // namespace preload
