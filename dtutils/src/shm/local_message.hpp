// SPDX-License-Identifier: MIT
// Messages of local sockets that carry a descriptor, and what a visitor and a door say in them.
#pragma once

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "shm/descriptor.hpp"

namespace dtutils::shm {

/// What a visitor says, and what it hears.
struct DoorRequest {
  std::uint64_t magic;
  std::uint64_t key;
  std::uint64_t layout;
};
struct DoorAnswer {
  std::uint64_t magic;
  std::uint64_t layout;
};

/// A message and the descriptor that travels with it.
struct Parcel {
  Parcel(void* data, std::size_t size) : bytes{data, size} {
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  void put(int fd) {
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  Descriptor take() {
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    int fd = -1;
    if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof fd)) {
      std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    }
    return Descriptor(fd);
  }

  iovec bytes;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
};

/// The place of a door in the abstract namespace of unix(7).
struct DoorName {
  DoorName(pid_t pid, std::uint32_t door) {
    address.sun_family = AF_UNIX;
    // The first byte stays 0: abstract.
    char* const end = fmt::format_to_n(address.sun_path + 1, sizeof address.sun_path - 1,
                                       "cariama-{}-{}", pid, door)
                          .out;
    length = static_cast<socklen_t>(end - reinterpret_cast<char*>(&address));
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t length = 0;
};

/// A socket of local messages. Throws Error.
Descriptor local_socket();
/// Lets each wait of a socket end after a time.
void limit_waiting(const Descriptor& socket, int limit_ms);
/// Who made the other end.
std::optional<ucred> credentials(const Descriptor& socket);
/// A copy of the descriptor that lies in the queue, or none.
Descriptor look_into(const Descriptor& queue);

/// Repeats what a stop of this process has interrupted: waits of sockets with a limit then end with
/// EINTR, without any handler (signal(7)).
template <class Call>
ssize_t uninterrupted(Call call) {
  ssize_t result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

}  // namespace dtutils::shm
