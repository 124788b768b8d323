// SPDX-License-Identifier: MIT
// A socket over which the two sides of a new stream meet, and the time that they have for it.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace streams {

/// Connections that wait in a listening socket (listen(2)).
inline constexpr int kBacklog = 128;

/// The place of a Unix-domain socket in the abstract namespace.
struct LocalAddress {
  sockaddr_un socket{};
  socklen_t length = 0;
};

/// Where this user's listener of that name is. Throws Error: the name is empty or too long.
LocalAddress local_address(std::string_view name);

/// Owns a socket, whose calls do not block. Setup only.
class Meeting {
 public:
  using Clock = std::chrono::steady_clock;

  /// Takes over `fd`. All steps end at `end`, whatever their number.
  Meeting(int fd, Clock::time_point end) noexcept : fd_(fd), end_(end) {}
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  ~Meeting();

  int fd() const noexcept { return fd_; }
  /// Gives the socket away.
  int release() noexcept;

  /// 0, or the errno value for which there is no connection: ETIMEDOUT when the listener takes no
  /// more connections, ECONNREFUSED when there was no listener, until the time was over.
  int connect(const LocalAddress& address) noexcept;
  /// Whether the other side runs as that user (SO_PEERCRED).
  bool is_user(uid_t user) const noexcept;

  /// Sends a value. False: the other side is gone, or the time is over.
  template <class T>
  bool tell(const T& value) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return send_all(&value, sizeof value);
  }
  /// Receives a value. False: the other side is gone, or the time is over.
  template <class T>
  bool hear(T& value) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return receive_all(&value, sizeof value);
  }

  /// Waits for a moment. False: the other side is gone, or the time is over.
  bool pause() noexcept;

 private:
  bool send_all(const void* data, std::size_t size) noexcept;
  bool receive_all(void* data, std::size_t size) noexcept;
  /// Until the socket has one of `events`; false when the time is over.
  bool wait(short events) noexcept;

  int fd_;
  Clock::time_point end_;
};

/// A call on a socket that did not block may answer something else next time.
constexpr bool is_transient(int code) noexcept {
  return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}
/// A Unix-domain socket that does not block. Throws Error.
int make_local_socket();

}  // namespace streams
