// SPDX-License-Identifier: MIT
// Who else on this host uses the library: known before a connection is made.
#pragma once

#include <sys/socket.h>

namespace preload {

/// Tells programs of the same user, in the same network namespace, that who listens on the TCP port
/// of the socket `fd` has this library, and lets the kernel keep how connections to it began. The
/// answer is a descriptor that the caller closes when the socket is; -1: nothing was said, since it
/// is not TCP, or another process of this port has said it.
int announce(int fd) noexcept;

/// Whether a connection to `address` would reach a program of this host that has announced its
/// port.
bool is_announced(const sockaddr* address, socklen_t length) noexcept;

/// Whether any program of this user, in this network namespace, has announced a port or offers a
/// stream.
bool is_anybody_announced();

/// Marks the SYN of the connection that `fd` is about to make, and takes the mark off.
class Mark {
 public:
  explicit Mark(int fd) noexcept;
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark();

 private:
  int fd_;
  int ttl_ = -1;
  int hops_ = -1;
};

/// Whether the connection `fd`, which was accepted, began with a mark.
bool is_marked(int fd) noexcept;

}  // namespace preload
