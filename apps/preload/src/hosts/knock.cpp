// SPDX-License-Identifier: MIT
// The side of the process in the three messages, with one deadline for all.
#include "hosts/knock.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <utility>

#include "hosts/wire.hpp"
#include "real.hpp"

namespace preload::hosts {
namespace {

using Clock = std::chrono::steady_clock;

/// A TCP connection that is given up at the deadline. Owns the socket.
class Line {
 public:
  Line(int fd, Clock::time_point end) noexcept : fd_(fd), end_(end) {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() {
    if (fd_ >= 0) real().close(fd_);
  }

  int release() noexcept { return std::exchange(fd_, -1); }

  bool connect(const sockaddr_storage& address) noexcept {
    if (fd_ < 0) return false;
    const socklen_t length =
        address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (real().connect(fd_, reinterpret_cast<const sockaddr*>(&address), length) == 0) return true;
    int code = errno;
    socklen_t size = sizeof code;
    return code == EINPROGRESS && wait(POLLOUT) &&
           getsockopt(fd_, SOL_SOCKET, SO_ERROR, &code, &size) == 0 && code == 0;
  }
  template <class T>
  bool tell(const T& value) noexcept {
    // A new connection has room for it.
    return real().send(fd_, &value, sizeof value, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof value;
  }
  template <class T>
  bool hear(T& value) noexcept {
    auto* const into = reinterpret_cast<std::byte*>(&value);
    for (std::size_t done = 0; done < sizeof value;) {
      if (!wait(POLLIN)) return false;
      const ssize_t bytes = real().recv(fd_, into + done, sizeof value - done, MSG_DONTWAIT);
      if (bytes == 0 || (bytes < 0 && errno != EAGAIN)) return false;
      done += static_cast<std::size_t>(std::max<ssize_t>(bytes, 0));
    }
    return true;
  }

 private:
  bool wait(short events) noexcept {
    const auto left = std::max<std::chrono::nanoseconds>(end_ - Clock::now(), {});
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    // The threads of the library take no signals.
    const timespec limit{seconds.count(), (left - seconds).count()};
    pollfd entry{fd_, events, 0};
    return real().ppoll(&entry, 1, &limit, nullptr) > 0;
  }

  int fd_;
  Clock::time_point end_;
};

sockaddr_storage broker_at(const sockaddr_storage& peer, std::uint16_t port) noexcept {
  sockaddr_storage address = peer;
  // Both families have the port at the same place.
  const in_port_t there = htons(port);
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  std::memcpy(reinterpret_cast<std::byte*>(&address) + offsetof(sockaddr_in, sin_port), &there,
              sizeof there);
  return address;
}

}  // namespace

Visit knock(const Settings& settings, const sockaddr_storage& peer,
            std::string_view connection) noexcept {
  const auto name = connection_name(connection);
  if (!name) return {};
  Line line(socket(peer.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
            Clock::now() + kKnock);
  Challenge challenge;
  if (!line.connect(broker_at(peer, settings.port)) || !line.hear(challenge) ||
      challenge.magic != kMagic || challenge.version != kVersion) {
    return {};
  }
  Statement statement{.broker = challenge.broker, .process = {}, .connection = *name};
  try {
    statement.process = make_nonce();
  } catch (const std::exception&) {
    return {};
  }
  Answer answer;
  if (!line.tell(Knock{statement.process, *name,
                       settings.secret.prove(HandshakeRole::kInitiator, statement)}) ||
      !line.hear(answer)) {
    return {};
  }
  statement.verdict = answer.verdict;
  if (!settings.secret.accepts(HandshakeRole::kResponder, statement, answer.proof)) return {};
  if (answer.verdict != Verdict::kHandedOver) return {-1, true};
  return {line.release(), true};
}

}  // namespace preload::hosts
