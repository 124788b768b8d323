// SPDX-License-Identifier: MIT
// TCP at addresses that a user writes: reading and resolving them, listening, connecting in time.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtutils {

// Each function that throws Error takes its object from the caller, as "stream at node7:4711".
// Sockets belong to the caller, do not block, and are closed by exec(2). All times are of the
// machine, also in a simulation, which has no sockets.

/// A host and a port of it, before the host is resolved.
struct HostPort {
  /// A name, or an IPv4 or IPv6 address without brackets; empty: all addresses of this host.
  std::string host;
  std::uint16_t port = 0;  ///< 0: where one listens, any that is free.

  /// As parse_host_port reads it. Any thread.
  std::string text() const;
  /// Whether the host is an address, and not a name that has to be resolved. Any thread.
  bool is_literal() const;
};

/// Reads "HOST:PORT", "[IPv6]:PORT" or ":PORT". Throws Error: there is no port, or none between 0
/// and 65535; an IPv6 address has no brackets, or there is none in them. Any thread.
HostPort parse_host_port(std::string_view object, std::string_view text);

/// A socket address of TCP, of IPv4 or IPv6.
struct TcpAddress {
  sockaddr_storage storage{};  ///< As bind(2) and connect(2) take it.
  socklen_t size = 0;          ///< Bytes of it, 16 or 28.

  /// What bind(2) and connect(2) take.
  const sockaddr* raw() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  /// The host in figures, without the port: "127.0.0.1", "::1". Any thread.
  std::string host() const;
};

/// Where one connects to: all addresses of a host, in the order of getaddrinfo(3), which may ask
/// name servers for some seconds. Throws Error: it has no host, or port 0; the host is not known.
/// Setup only.
std::vector<TcpAddress> resolve_tcp(std::string_view object, const HostPort& to);

/// A socket that listens there, for IPv4 and IPv6 where `at` has no host. At most `backlog`
/// connections wait in it (listen(2)). Throws Error: the host is not known, or is not this one; the
/// port is in use, or reserved; no descriptor is left. Setup only.
[[nodiscard]] int listen_tcp(std::string_view object, const HostPort& at, int backlog);

/// A connected socket. While nobody answers, all addresses of the host are tried again and again
/// until `end`; one that loses all packets leaves time for those behind it. Throws Error: as
/// resolve_tcp; nobody has answered by `end`; no address can be reached by the routes of this host,
/// which is told at once; no descriptor is left. Setup only.
[[nodiscard]] int connect_tcp(std::string_view object, const HostPort& to,
                              std::chrono::steady_clock::time_point end);
/// The same to one of these addresses, of which there is one at least.
[[nodiscard]] int connect_tcp(std::string_view object, std::span<const TcpAddress> to,
                              std::chrono::steady_clock::time_point end);

/// A socket that begins to connect, and is writable (poll(2)) when that has ended: socket_error
/// says how. -1 when it fails at once, with errno. Any thread.
[[nodiscard]] int begin_connect_tcp(const TcpAddress& to) noexcept;

/// 0, or the errno value of what went wrong with a socket since the last call. Any thread.
int socket_error(int socket) noexcept;

/// The port that a socket is bound to. Any thread.
std::uint16_t tcp_port(int socket) noexcept;

/// Where other hosts may reach this one: the IPv4 addresses of its interfaces that are up, without
/// loopback. Throws Error when they cannot be listed. Any thread.
std::vector<std::string> own_ipv4_addresses();

}  // namespace dtutils
