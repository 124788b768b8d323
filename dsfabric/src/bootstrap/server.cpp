// SPDX-License-Identifier: MIT
// Admission, exchange and obituaries.
#include "bootstrap/server.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "dtutils/error.hpp"

namespace dsfabric::rendezvous {
namespace {

int open_listener(const std::string& address, std::uint16_t port) {
  const auto refuse = [&](const char* happened, const char* remedy, int code) {
    throw dtutils::Error(fmt::format("rendezvous at {}:{}", address, port), happened, remedy, code);
  };
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    refuse("this is no IP address", "give a literal address of this machine, as 127.0.0.1", 0);
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool bound =
      fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0;
  const int code = errno;
  freeaddrinfo(found);
  if (!bound) {
    if (fd >= 0) close(fd);
    refuse("cannot listen there",
           code == EADDRINUSE ? "another program uses the port: choose another one, or 0 for any"
                              : "check that the address belongs to this machine",
           code);
  }
  return fd;
}

std::uint16_t port_of(int fd) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
  // The port lies at the same place in IPv4 and IPv6 addresses.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

}  // namespace

Server::Server(std::uint32_t processes, std::string secret, const std::string& address,
               std::uint16_t port)
    : secret_(std::move(secret)), listener_(open_listener(address, port)), members_(processes) {
  port_ = port_of(listener_);
}

Server::~Server() { close(listener_); }

void Server::watch(std::vector<pollfd>& into) const {
  into.push_back({listener_, POLLIN, 0});
  for (const auto& guest : guests_) {
    const int queued = guest->connection.has_queued() ? POLLOUT : 0;
    into.push_back({guest->connection.fd(), static_cast<short>(POLLIN | queued), 0});
  }
}

std::optional<std::chrono::steady_clock::time_point> Server::next_deadline() const {
  std::optional<Clock::time_point> next = gather_by_;
  for (const auto& guest : guests_) {
    if (!guest->rank && (!next || guest->hello_by < *next)) next = guest->hello_by;
  }
  return next;
}

void Server::handle(const std::vector<pollfd>& ready) {
  for (const pollfd& each : ready) {
    if (each.revents == 0) continue;
    if (each.fd == listener_) accept_guest();
    for (std::size_t i = 0; i < guests_.size(); ++i) {
      if (guests_[i]->connection.fd() == each.fd && !guests_[i]->closed) serve(*guests_[i]);
    }
  }
  const auto now = Clock::now();
  for (const auto& guest : guests_) {
    if (!guest->rank && now >= guest->hello_by) guest->closed = true;
  }
  if (gather_by_ && now >= *gather_by_) {
    std::vector<std::size_t> missing;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (!members_[rank].contribution) missing.push_back(rank);
    }
    fail_gather(fmt::format("these processes did not come in time: {}", fmt::join(missing, ", ")));
  }
  std::erase_if(guests_, [](const auto& guest) { return guest->closed; });
}

void Server::accept_guest() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd >= 0) guests_.push_back(std::make_unique<Guest>(fd));
}

void Server::serve(Guest& guest) {
  bool open = guest.connection.flush();
  open = guest.connection.receive(guest.rank ? kMaxFrame : kMaxHello) && open;
  while (!guest.closed) {
    const auto frame = guest.connection.next();
    if (!frame) break;
    guest.rank ? serve_member(guest, *frame) : greet(guest, *frame);
  }
  if (!open && !guest.closed) lose(guest);
}

std::string Server::refusal(const Bytes& hello, std::uint32_t& rank) {
  Reader reader(hello);
  const auto protocol = reader.u32();
  const auto secret = reader.text();
  const auto claimed = reader.u32();
  const auto size = reader.u32();
  const auto build = reader.text();
  if (!build) return "this is no greeting of a Cariama process";
  if (*protocol != kProtocol) {
    return fmt::format(
        "the process speaks rendezvous protocol {}, the launcher {}: use one version", *protocol,
        kProtocol);
  }
  if (!equal_secret(*secret, secret_)) return "the job secret is wrong: this is another job";
  if (*size != members_.size()) {
    return fmt::format("the process expects {} processes, the job has {}", *size, members_.size());
  }
  if (*claimed >= members_.size()) {
    return fmt::format("there is no rank {} in a job of {} processes", *claimed, members_.size());
  }
  if (members_[*claimed].joined) return fmt::format("rank {} has joined already", *claimed);
  if (build_.empty()) build_ = *build;
  if (*build != build_) {
    return fmt::format("the builds differ: this process is \"{}\", the first one to join is \"{}\"",
                       *build, build_);
  }
  rank = *claimed;
  return {};
}

void Server::greet(Guest& guest, const Frame& frame) {
  std::uint32_t rank = 0;
  const std::string sentence =
      frame.type == Type::kHello ? refusal(frame.body, rank) : "a greeting was expected";
  if (!sentence.empty()) return refuse(guest, sentence);
  guest.rank = rank;
  members_[rank].guest = &guest;
  members_[rank].joined = true;
  guest.connection.send(Type::kWelcome, {});
}

void Server::refuse(Guest& guest, const std::string& sentence) {
  guest.connection.send(Type::kRefused, Writer().text(sentence).take());
  guest.closed = true;
}

void Server::serve_member(Guest& guest, const Frame& frame) {
  Member& member = members_[*guest.rank];
  if (frame.type == Type::kGather) {
    contribute(member, frame.body);
  } else if (frame.type == Type::kGoodbye) {
    member.left = true;
  } else {
    lose(guest);
  }
}

void Server::contribute(Member& member, std::span<const std::byte> body) {
  Reader reader(body);
  const auto limit = reader.u32();
  const auto bytes = reader.bytes();
  if (!bytes || member.contribution) return lose(*member.guest);
  member.contribution.emplace(bytes->begin(), bytes->end());
  const auto by = Clock::now() + std::chrono::milliseconds(*limit);
  if (!gather_by_ || by < *gather_by_) gather_by_ = by;
  finish_gather();
}

void Server::finish_gather() {
  std::vector<std::size_t> failed;
  bool complete = true;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    const Member& member = members_[rank];
    if (member.contribution) continue;
    complete = false;
    if (member.failed || member.left) failed.push_back(rank);
  }
  if (!failed.empty()) {
    return fail_gather(fmt::format("these processes have ended: {}", fmt::join(failed, ", ")));
  }
  if (!complete) return;
  Writer all;
  for (Member& member : members_) all.bytes(*std::exchange(member.contribution, std::nullopt));
  const Bytes body = all.take();
  gather_by_.reset();
  for (const Member& member : members_) {
    if (member.guest != nullptr) member.guest->connection.send(Type::kGathered, body);
  }
}

void Server::fail_gather(const std::string& sentence) {
  gather_by_.reset();
  for (Member& member : members_) {
    if (!std::exchange(member.contribution, std::nullopt) || member.guest == nullptr) continue;
    member.guest->connection.send(Type::kMissing, Writer().text(sentence).take());
  }
}

void Server::lose(Guest& guest) {
  guest.closed = true;
  if (!guest.rank) return;
  const std::uint32_t rank = *guest.rank;
  members_[rank].guest = nullptr;
  if (!members_[rank].left) fail(rank);
}

void Server::process_ended(std::uint32_t rank, bool in_order) {
  Member& member = members_[rank];
  // Its goodbye may have arrived since the last look.
  if (member.guest != nullptr) serve(*member.guest);
  if (member.left || (in_order && !member.joined)) {
    member.left = true;
    if (gather_by_) finish_gather();
    return;
  }
  fail(rank);
}

void Server::fail(std::uint32_t rank) {
  if (std::exchange(members_[rank].failed, true)) return;
  for (const Member& member : members_) {
    if (member.guest != nullptr && !member.guest->closed) {
      member.guest->connection.send(Type::kFailed, Writer().u32(rank).take());
    }
  }
  if (gather_by_) finish_gather();
}

std::vector<std::uint32_t> Server::not_joined() const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
    if (!members_[rank].joined) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace dsfabric::rendezvous
