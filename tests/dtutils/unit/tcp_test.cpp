// SPDX-License-Identifier: MIT
// TCP at addresses that a user writes: who listens, who is reached, and in which time.
#include "dtutils/tcp.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/no_descriptors.hpp"

using namespace dtutils;
using namespace std::chrono_literals;
using support::contains;
using support::error_text;
using support::NoDescriptors;
using SteadyClock = std::chrono::steady_clock;

namespace {

class TcpSocket {
 public:
  explicit TcpSocket(int fd) : fd_(fd) {}
  TcpSocket(TcpSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  TcpSocket& operator=(TcpSocket&&) = delete;
  ~TcpSocket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  std::uint16_t port() const { return tcp_port(fd_); }

 private:
  int fd_;
};

TcpSocket listening(const char* host = "127.0.0.1", std::uint16_t port = 0) {
  return TcpSocket(listen_tcp("test", {host, port}, 16));
}

TcpSocket connected(const char* host, std::uint16_t port) {
  return TcpSocket(connect_tcp("test", HostPort{host, port}, SteadyClock::now() + 10s));
}

TcpAddress address_at(std::uint16_t port, const char* host = "127.0.0.1") {
  return resolve_tcp("test", {host, port}).at(0);
}

/// A port of 127.0.0.1 where nobody listens any more.
std::uint16_t closed_tcp_port() { return listening().port(); }

bool tcp_event(const TcpSocket& socket, short events, int milliseconds = 10'000) {
  pollfd entry{socket.fd(), events, 0};
  return poll(&entry, 1, milliseconds) == 1;
}

bool has_ipv6() {
  const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool works =
      fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (fd >= 0) close(fd);
  return works;
}

}  // namespace

TEST_CASE("nobody_connects_to_no_host_port_0_or_an_unknown_host") {
  const auto said = [](const char* host, std::uint16_t port) {
    return error_text([&] { resolve_tcp("peer", {host, port}); });
  };
  CHECK_THAT(said("", 1), contains("peer: it has no host"));
  CHECK_THAT(said("127.0.0.1", 0), contains("peer: nobody can connect to port 0"));
  CHECK_THAT(said("no host", 1), contains("cannot be resolved") && contains("check the name"));
}

TEST_CASE("a_socket_listens_at_the_port_that_was_asked_for") {
  const TcpSocket first = listening();
  CHECK(first.port() != 0);
  CHECK_THAT(error_text([&] { listening("127.0.0.1", first.port()); }),
             contains("another program uses the port") && contains("Address already in use"));
  CHECK_THAT(error_text([] { listening("192.0.2.1"); }), contains("belongs to this machine"));
  CHECK_THAT(error_text([] { listening("no host"); }), contains("cannot be resolved"));
  const std::uint16_t port = closed_tcp_port();
  CHECK(listening("127.0.0.1", port).port() == port);
}

TEST_CASE("sockets_do_not_block_and_are_closed_by_exec") {
  const TcpSocket listener = listening();
  const TcpSocket client = connected("localhost", listener.port());
  const TcpSocket begun(begin_connect_tcp(address_at(listener.port())));
  for (const int fd : {listener.fd(), client.fd(), begun.fd()}) {
    CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
  }
}

TEST_CASE("ipv6_works_as_ipv4_does") {
  if (!has_ipv6()) {
    WARN("SKIPPED: this machine has no IPv6");
    return;
  }
  const TcpSocket listener = listening("::1");
  const TcpSocket client = connected("::1", listener.port());
  CHECK(tcp_event(listener, POLLIN));
  CHECK(address_at(listener.port(), "::1").host() == "::1");
  CHECK_THAT(error_text([&] { listening("::1", listener.port()); }), contains("uses the port"));
}

TEST_CASE("who_listens_without_a_host_hears_both_families") {
  const TcpSocket listener = listening("");
  for (const char* const host : {"127.0.0.1", "::1"}) {
    if (host[0] == ':' && !has_ipv6()) continue;
    INFO(host);
    const TcpSocket client = connected(host, listener.port());
    REQUIRE(tcp_event(listener, POLLIN));
    const TcpSocket accepted(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    CHECK(accepted.fd() >= 0);
  }
}

TEST_CASE("the_second_address_of_a_host_is_tried_when_the_first_refuses") {
  const TcpSocket listener = listening();
  const std::array addresses{address_at(closed_tcp_port()), address_at(listener.port())};
  const TcpSocket client(connect_tcp("test", addresses, SteadyClock::now() + 10s));
  CHECK(tcp_event(listener, POLLIN));
}

TEST_CASE("the_first_address_of_a_host_that_answers_is_taken") {
  const TcpSocket listener = listening();
  const TcpSocket other = listening();
  const std::array addresses{address_at(listener.port()), address_at(other.port())};
  const TcpSocket client(connect_tcp("test", addresses, SteadyClock::now() + 10s));
  CHECK(tcp_event(listener, POLLIN));
  CHECK_FALSE(tcp_event(other, POLLIN, 0));
}

TEST_CASE("a_host_none_of_whose_addresses_answers_is_named_with_the_last_error") {
  const std::array addresses{address_at(closed_tcp_port()), address_at(closed_tcp_port())};
  CHECK_THAT(
      error_text([&] { (void)connect_tcp("launcher:4711", addresses, SteadyClock::now() + 50ms); }),
      contains("launcher:4711") && contains("any of the 2 addresses") &&
          contains("127.0.0.1 is the last") && contains("Connection refused"));
}

TEST_CASE("who_is_refused_tries_again_until_somebody_listens_or_the_time_is_over") {
  const std::uint16_t port = closed_tcp_port();
  const auto begin = SteadyClock::now();
  CHECK_THAT(error_text([&] {
               (void)connect_tcp("test", HostPort{"127.0.0.1", port}, begin + 100ms);
             }),
             contains("nobody answers there") && contains("check that the other side listens"));
  CHECK(SteadyClock::now() >= begin + 100ms);
  int late = -1;
  std::thread peer([&] {
    std::this_thread::sleep_for(50ms);
    late = listen_tcp("test", {"127.0.0.1", port}, 16);
  });
  const TcpSocket client = connected("127.0.0.1", port);
  peer.join();
  const TcpSocket listener(late);
  CHECK(tcp_event(listener, POLLIN));
}

TEST_CASE("who_connects_has_one_try_however_long_its_time_is_over") {
  const std::uint16_t port = closed_tcp_port();
  CHECK_THAT(
      error_text([&] {
        (void)connect_tcp("test", HostPort{"127.0.0.1", port}, SteadyClock::time_point::min());
      }),
      contains("nobody answers there"));
  const TcpSocket listener = listening();
  // On one host a connection is there before connect(2) returns.
  const TcpSocket client(
      connect_tcp("test", HostPort{"127.0.0.1", listener.port()}, SteadyClock::time_point::min()));
  CHECK(tcp_event(listener, POLLIN));
}

TEST_CASE("an_address_that_drops_packets_is_given_up_in_time_and_leaves_some_to_the_others") {
  // Its queue is full, so the kernel drops the first packet of a connection.
  const TcpSocket full(listen_tcp("test", {"127.0.0.1", 0}, 0));
  std::vector<TcpSocket> queue;
  for (int i = 0; i < 8; ++i) queue.emplace_back(begin_connect_tcp(address_at(full.port())));
  REQUIRE_FALSE(tcp_event(queue.back(), POLLOUT, 200));
  const auto begin = SteadyClock::now();
  CHECK_THAT(error_text([&] {
               (void)connect_tcp("test", HostPort{"127.0.0.1", full.port()}, begin + 200ms);
             }),
             contains("nobody answers there") && contains("timed out"));
  CHECK(SteadyClock::now() - begin >= 200ms);
  CHECK(SteadyClock::now() - begin < 10s);
  const TcpSocket listener = listening();
  const std::array addresses{address_at(full.port()), address_at(listener.port())};
  const TcpSocket client(connect_tcp("test", addresses, SteadyClock::now() + 1s));
  CHECK(tcp_event(listener, POLLIN));
}

TEST_CASE("who_has_no_route_is_told_at_once") {
  // The address of broadcasts, which TCP has not: ENETUNREACH or EACCES, by the routes of the host.
  const auto begin = SteadyClock::now();
  CHECK_THAT(error_text([&] {
               (void)connect_tcp("test", HostPort{"255.255.255.255", 1}, begin + 60s);
             }),
             contains("nobody answers there"));
  CHECK(SteadyClock::now() - begin < 30s);
}

TEST_CASE("who_has_no_descriptors_is_told_so_at_once") {
#if defined(__SANITIZE_ADDRESS__)
  WARN("SKIPPED: the sanitizer needs a descriptor of its own to look at memory");
  return;
#endif
  const TcpSocket listener = listening();
  const TcpAddress address = address_at(listener.port());
  const auto begin = SteadyClock::now();
  std::string connecting;
  std::string listening_again;
  int begun;
  int code;
  {
    const NoDescriptors none;
    connecting = error_text(
        [&] { (void)connect_tcp("test", std::array{address}, SteadyClock::now() + 60s); });
    listening_again = error_text([] { listening(); });
    begun = begin_connect_tcp(address);
    code = errno;
  }
  CHECK(SteadyClock::now() - begin < 30s);
  CHECK_THAT(connecting, contains("raise the limit of descriptors"));
  CHECK_THAT(listening_again, contains("raise the limit of descriptors"));
  CHECK(begun == -1);
  CHECK(code == EMFILE);
}

TEST_CASE("a_connection_that_was_begun_tells_how_it_ended") {
  const TcpSocket listener = listening();
  const TcpSocket good(begin_connect_tcp(address_at(listener.port())));
  REQUIRE(tcp_event(good, POLLOUT));
  CHECK(socket_error(good.fd()) == 0);
  const TcpSocket bad(begin_connect_tcp(address_at(closed_tcp_port())));
  REQUIRE(tcp_event(bad, POLLOUT));
  CHECK(socket_error(bad.fd()) == ECONNREFUSED);
  CHECK(socket_error(-1) == EBADF);
}

TEST_CASE("own_addresses_are_those_that_one_may_listen_at") {
  for (const std::string& address : own_ipv4_addresses()) {
    INFO(address);
    CHECK(HostPort{address, 1}.is_literal());
    CHECK_FALSE(address.starts_with("127."));
    CHECK(listening(address.c_str()).port() != 0);
  }
}
