// SPDX-License-Identifier: MIT
// The system calls around local sockets.
#include "shm/local_message.hpp"

#include <sys/time.h>

#include "dtutils/error.hpp"

namespace dtutils::shm {

Descriptor local_socket() {
  Descriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!made) throw Error("shm", "a local socket cannot be made", "raise `ulimit -n`", errno);
  return made;
}

void limit_waiting(const Descriptor& socket, int limit_ms) {
  const timeval limit{limit_ms / 1000, limit_ms % 1000 * 1000};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

std::optional<ucred> credentials(const Descriptor& socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer;
}

Descriptor look_into(const Descriptor& queue) {
  char nothing = 0;
  Parcel parcel(&nothing, sizeof nothing);
  const ssize_t size =
      recvmsg(queue.get(), &parcel.message, MSG_PEEK | MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  return size < 0 ? Descriptor() : parcel.take();
}

}  // namespace dtutils::shm
