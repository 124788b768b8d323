// SPDX-License-Identifier: MIT
// What the kernel knows of a TCP socket.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace preload {

/// Bytes that all processes together have sent on it since it was connected, on whichever way.
/// Nothing when the kernel does not say. Any thread.
std::optional<std::uint64_t> bytes_written(int fd) noexcept;
/// Bytes that were received from it, those that wait in it not counted.
std::optional<std::uint64_t> bytes_read(int fd) noexcept;

/// Whether the peer has ended its direction, or the connection is gone.
bool has_ended(int fd) noexcept;
/// What poll(2) says of it at once.
short levels(int fd, short events) noexcept;
/// Whether its calls answer EAGAIN instead of waiting.
bool is_non_blocking(int fd) noexcept;
/// How long its calls wait.
struct Manner {
  /// They answer EAGAIN at once.
  bool non_blocking;
  /// SO_RCVTIMEO and SO_SNDTIMEO; zero: no limit.
  std::chrono::microseconds receive_limit;
  std::chrono::microseconds send_limit;
};
Manner manner_of(int fd) noexcept;
/// Lets its end be a reset for the peer (SO_LINGER with no time).
void let_close_reset(int fd) noexcept;
/// Resets it now, whatever other processes have it.
void reset(int fd) noexcept;

/// Whether this is a TCP connection, or one under way, whose sides have different addresses. That
/// is so for all connections to other hosts, and for few within one.
bool has_two_addresses(int fd) noexcept;
/// Whether it is a TCP socket for Internet addresses at all.
bool is_tcp(int fd) noexcept;
/// Whether an option asks the kernel to do to the bytes, or to tell of them, what a stream does
/// not: SO_ZEROCOPY, SO_TIMESTAMPING, SO_RCVLOWAT, and protocols above TCP (TCP_ULP: TLS in the
/// kernel).
bool asks_for_tcp(int level, int option, const void* value, socklen_t length) noexcept;
/// Whether one of them is set, or signals for its events (O_ASYNC).
bool needs_tcp(int fd) noexcept;
/// The address of the other side; of no family when there is none.
sockaddr_storage peer_of(int fd) noexcept;
/// The bytes of an Internet address without its port.
std::string host_of(const sockaddr_storage& address);
/// Lets the kernel look whether a host that says nothing is still there.
void keep_alive(int fd) noexcept;

/// The name under which the two sides of a TCP connection meet: both can tell it, and no other
/// connection of the network namespace has it. Empty when it has no addresses any more.
std::string meeting_name(int fd, bool connected_here);

}  // namespace preload
