// SPDX-License-Identifier: MIT
// One thread, sockets that do not block, messages of fixed sizes.
#include "hosts/broker.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "dtutils/tcp.hpp"
#include "hosts/handover.hpp"
#include "real.hpp"

namespace preload::hosts {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr int kBacklog = 512;
/// While there is no descriptor for a newcomer.
constexpr timespec kScarcity{0, 10'000'000};

timespec until(std::chrono::steady_clock::time_point end) noexcept {
  const nanoseconds left = std::max(end - std::chrono::steady_clock::now(), nanoseconds(0));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  return {seconds.count(), (left - seconds).count()};
}

bool send_whole(int fd, const void* data, std::size_t size) noexcept {
  return real().send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

}  // namespace

Broker::Broker(const Secret& secret, std::uint16_t port)
    : secret_(secret),
      socket_(dtutils::listen_tcp(
          "broker of streams on port " + std::to_string(port) + ", which is the same on all hosts",
          {"", port}, kBacklog)),
      port_(dtutils::tcp_port(socket_)) {}

Broker::~Broker() {
  for (const Visitor& each : visitors_) real().close(each.fd);
  real().close(socket_);
}

void Broker::serve(milliseconds time) {
  const Clock::time_point end = Clock::now() + time;
  std::vector<pollfd> entries;
  do {
    entries.assign(1, {socket_, POLLIN, 0});
    for (const Visitor& each : visitors_) entries.push_back({each.fd, POLLIN, 0});
    const timespec limit =
        until(visitors_.empty() ? end : std::min(end, visitors_.front().came + kVisit));
    if (real().ppoll(entries.data(), entries.size(), &limit, nullptr) < 0) continue;
    for (std::size_t i = visitors_.size(); i-- > 0;) {
      const bool late = Clock::now() >= visitors_[i].came + kVisit;
      if ((entries[i + 1].revents != 0 && !hear(visitors_[i])) || late) drop(i);
    }
    if (entries[0].revents != 0) admit();
  } while (Clock::now() < end);
}

void Broker::admit() {
  // So many at a time, so that those who are there are heard meanwhile.
  for (std::size_t i = 0; i < kVisitors; ++i) {
    const int fd = real().accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      welcome(fd);
    } else if (errno == EMFILE || errno == ENFILE) {
      if (!make_room()) real().ppoll(nullptr, 0, &kScarcity, nullptr);
      return;
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

void Broker::welcome(int fd) {
  if (visitors_.size() >= kVisitors && !make_room()) {
    real().close(fd);
    return;
  }
  const Challenge challenge{kMagic, kVersion, 0, make_nonce()};
  if (send_whole(fd, &challenge, sizeof challenge)) {
    visitors_.push_back({fd, Clock::now(), challenge.broker, {}, 0});
  } else {
    real().close(fd);
  }
}

bool Broker::make_room() noexcept {
  if (visitors_.empty() || Clock::now() < visitors_.front().came + kPatienceWithVisitor) {
    return false;
  }
  drop(0);
  return true;
}

void Broker::drop(std::size_t visitor) noexcept {
  real().close(visitors_[visitor].fd);
  visitors_.erase(visitors_.begin() + static_cast<std::ptrdiff_t>(visitor));
}

bool Broker::hear(Visitor& visitor) noexcept {
  auto* const into = reinterpret_cast<std::byte*>(&visitor.knock) + visitor.received;
  const ssize_t bytes =
      real().recv(visitor.fd, into, sizeof visitor.knock - visitor.received, MSG_DONTWAIT);
  if (bytes <= 0) return bytes < 0 && (errno == EAGAIN || errno == EINTR);
  visitor.received += static_cast<std::size_t>(bytes);
  if (visitor.received < sizeof visitor.knock) return true;
  answer(visitor);
  return false;
}

void Broker::answer(const Visitor& visitor) noexcept {
  Statement statement{.broker = visitor.nonce,
                      .process = visitor.knock.process,
                      .connection = visitor.knock.connection};
  const std::string_view name = text_of(visitor.knock.connection);
  if (!secret_.accepts(HandshakeRole::kInitiator, statement, visitor.knock.proof) || name.empty())
    return;
  Recipient recipient(name);
  statement.verdict = recipient.is_there() ? Verdict::kHandedOver : Verdict::kNobody;
  const Answer answer{statement.verdict, 0, secret_.prove(HandshakeRole::kResponder, statement)};
  // The answer goes first: what the recipient says comes behind it. A connection that it does not
  // get ends when this copy is closed.
  if (send_whole(visitor.fd, &answer, sizeof answer) && recipient.is_there()) {
    static_cast<void>(recipient.give(visitor.fd));
  }
}

}  // namespace preload::hosts
