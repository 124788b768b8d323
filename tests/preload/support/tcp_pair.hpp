// SPDX-License-Identifier: MIT
// A TCP connection inside of one process, both of whose ends have the preload library.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "../../streams/support/pair.hpp"
#include "connection.hpp"
#include "descriptor_table.hpp"
#include "descriptors.hpp"
#include "poll.hpp"
#include "support/catch.hpp"
#include "transfer.hpp"

namespace support {

/// Both ends of a TCP connection, entered as those of two programs would be.
class TcpPair {
 public:
  TcpPair() {
    const int door = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    here = socket(AF_INET, SOCK_STREAM, 0);
    require(bind(door, raw, length) == 0 && listen(door, 1) == 0 &&
                getsockname(door, raw, &length) == 0 && connect(here, raw, length) == 0,
            "no connection could be made");
    there = accept(door, nullptr, nullptr);
    close(door);
    preload::enter_connection(here, true);
    preload::enter_connection(there, false);
  }
  ~TcpPair() {
    finish(here);
    finish(there);
  }
  static void finish(int& fd) {
    if (fd < 0) return;
    preload::leave(fd);
    close(fd);
    fd = -1;
  }
  /// Gives the ends their streams.
  void carry() {
    StreamPair pair = make_streams();
    connection(here)->carry(std::move(pair.here));
    connection(there)->carry(std::move(pair.there));
  }
  StreamPair make_streams() { return StreamPair(domain_.pd); }
  static preload::Locked<preload::Connection> connection(int fd) {
    return preload::table().lock<preload::Connection>(fd);
  }

  int here;
  int there;

 private:
  Domain domain_;
};

inline std::size_t give(int fd, std::size_t place, std::size_t count, int flags = MSG_DONTWAIT) {
  auto bytes = bytes_from(place, count);
  const iovec part{bytes.data(), bytes.size()};
  const ssize_t sent = preload::send(fd, std::span(&part, 1), flags | MSG_NOSIGNAL);
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

/// Receives so many bytes, which have to be those from `place` on.
inline void take(int fd, std::size_t place, std::size_t count) {
  std::vector<std::byte> bytes(count);
  const iovec part{bytes.data(), bytes.size()};
  const ssize_t got = preload::receive(fd, std::span(&part, 1), MSG_WAITALL);
  REQUIRE(got == static_cast<ssize_t>(count));
  CHECK(are_from(place, bytes));
}

inline int peek(int fd) {
  std::byte byte;
  const iovec part{&byte, 1};
  const ssize_t got = preload::receive(fd, std::span(&part, 1), MSG_PEEK | MSG_DONTWAIT);
  return got < 0 ? -errno : static_cast<int>(got);
}

inline void wait_for_input(int fd) {
  pollfd entry{fd, POLLIN, 0};
  REQUIRE(preload::poll_until(&entry, 1, preload::end_after(10'000), nullptr) == 1);
}

}  // namespace support
