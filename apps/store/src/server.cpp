// SPDX-License-Identifier: MIT
// Connections on epoll.
#include "store/server.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "dtutils/descriptor_limit.hpp"
#include "dtutils/error.hpp"
#include "dtutils/tcp.hpp"

namespace store {
namespace {

constexpr int kEvents = 256;
constexpr int kBacklog = 4096;
/// Bytes that are read at once.
constexpr std::size_t kReadBytes = 256 << 10;
/// A client that has so many bytes of replies to take is not read from.
constexpr std::size_t kEnoughUnread = 1 << 20;

}  // namespace

struct Server::Connection : Client {
  Connection(int socket, std::size_t max_command) : Client(max_command), fd(socket) {}
  int fd;
  /// Read and not consumed.
  std::string in;
  /// Of `out`, sent.
  std::size_t out_sent = 0;
  /// That epoll watches; none before it is registered.
  std::optional<std::uint32_t> events;
  /// Commands behind a WATCH wait in `in`.
  bool stopped = false;
};

Server::Server(Engine& engine, const Options& options)
    : engine_(engine), options_(options), buffer_(kReadBytes) {
  const std::size_t files = dtutils::raise_descriptor_limit();
  // Some are for the devices and logs.
  options_.max_clients = std::min(options_.max_clients, files > 128 ? files - 128 : files / 2);
  const dtutils::HostPort at{options.address, options.port};
  const std::string object = fmt::format("listen on {}", at.text());
  if (!at.is_literal()) {
    throw dtutils::Error(object, "this is no IP address", "give one, for example 127.0.0.1");
  }
  listener_ = dtutils::listen_tcp(object, at, kBacklog);
  port_ = dtutils::tcp_port(listener_);
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  (void)::epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event);
}

Server::~Server() {
  for (const auto& [connection, owner] : connections_) {
    if (!connection->gone) close(*connection);
  }
  ::close(epoll_);
  ::close(listener_);
}

void Server::accept_all() {
  while (connections_.size() < options_.max_clients) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto connection = std::make_unique<Connection>(fd, engine_.max_command());
    watch(*connection);
    Connection* const key = connection.get();
    connections_.emplace(key, std::move(connection));
  }
}

void Server::watch(Connection& connection) {
  std::uint32_t events = 0;
  const std::size_t unread = connection.out.size() - connection.out_sent;
  if (!connection.quits && !connection.holds && unread < kEnoughUnread) events |= EPOLLIN;
  if (unread != 0) events |= EPOLLOUT;
  if (events == connection.events) return;
  epoll_event event{.events = events, .data = {.ptr = &connection}};
  (void)::epoll_ctl(epoll_, connection.events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, connection.fd,
                    &event);
  connection.events = events;
}

bool Server::poll() {
  if (engine_.waiting() > options_.max_waiting) return false;
  std::array<epoll_event, kEvents> events;
  const int count = ::epoll_wait(epoll_, events.data(), kEvents, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.ptr == nullptr) {
      accept_all();
      continue;
    }
    auto& connection = *static_cast<Connection*>(event.data.ptr);
    if (connection.gone) continue;
    if ((event.events & EPOLLOUT) != 0) send_to(connection);
    if (!connection.gone && (event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
      read_from(connection);
    }
  }
  return count > 0;
}

void Server::read_from(Connection& connection) {
  const ssize_t got = ::recv(connection.fd, buffer_.data(), buffer_.size(), 0);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return close(connection);
  if (got < 0 || connection.quits) return;
  connection.in.append(buffer_.data(), static_cast<std::size_t>(got));
  take_commands(connection);
}

void Server::take_commands(Connection& connection) {
  std::size_t at = 0;
  for (bool more = true; more && !connection.quits && !connection.holds;) {
    std::size_t consumed = 0;
    const std::string_view input = std::string_view(connection.in).substr(at);
    switch (connection.parser.next(input, consumed)) {
      case ParseStatus::kCommand:
        engine_.command(connection, connection.parser.arguments());
        break;
      case ParseStatus::kTooLarge:
        engine_.too_large(connection);
        break;
      case ParseStatus::kGarbage:
        engine_.protocol_error(connection, connection.parser.error());
        break;
      case ParseStatus::kNeedMore:
        more = false;
        break;
    }
    at += consumed;
  }
  connection.stopped = connection.holds;
  connection.in.erase(0, at);
  if (connection.in.empty() && connection.in.capacity() > kReadBytes) connection.in = {};
}

void Server::send_to(Connection& connection) {
  while (connection.out_sent < connection.out.size()) {
    const ssize_t sent = ::send(connection.fd, connection.out.data() + connection.out_sent,
                                connection.out.size() - connection.out_sent, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return close(connection);
    if (sent < 0) break;
    connection.out_sent += static_cast<std::size_t>(sent);
  }
  if (connection.out_sent == connection.out.size()) {
    connection.out.clear();
    connection.out_sent = 0;
    if (connection.quits && connection.outstanding == 0) return close(connection);
  } else if (connection.out.size() - connection.out_sent > options_.max_unread) {
    return close(connection);
  }
  watch(connection);
}

bool Server::flush() {
  const std::vector<Client*> marked = engine_.take_marked();
  for (Client* const client : marked) {
    auto& connection = *static_cast<Connection*>(client);
    // Its WATCH has run: what it has sent behind that.
    if (!connection.gone && connection.stopped && !connection.holds) take_commands(connection);
    if (!connection.gone) send_to(connection);
  }
  std::erase_if(gone_, [&](Connection* connection) {
    return connection->outstanding == 0 && connections_.erase(connection) != 0;
  });
  return !marked.empty();
}

void Server::close(Connection& connection) {
  ::close(connection.fd);
  engine_.closed(connection);
  gone_.push_back(&connection);
}

}  // namespace store
