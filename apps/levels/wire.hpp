// SPDX-License-Identifier: MIT
// A socket pair between the two processes, for the few bytes that must be exchanged before RDMA.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <type_traits>

namespace levels {

/// One end. In a real program this is a TCP connection, a file or a launcher.
class Wire {
 public:
  explicit Wire(int socket) noexcept : socket_(socket) {}
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() { close(socket_); }

  /// Sends `mine`, receives the other side's. Throws when the other process has ended.
  template <class T>
  T exchange(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    T theirs;
    if (send(socket_, &mine, sizeof mine, MSG_NOSIGNAL) != sizeof mine ||
        recv(socket_, &theirs, sizeof theirs, MSG_WAITALL) != sizeof theirs) {
      throw std::runtime_error("the other process has ended");
    }
    return theirs;
  }

 private:
  int socket_;
};

}  // namespace levels
