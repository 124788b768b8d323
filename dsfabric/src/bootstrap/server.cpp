// SPDX-License-Identifier: MIT
// Server: admission, and obituaries.
#include "bootstrap/server.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include "dtutils/error.hpp"

namespace dsfabric::rendezvous {

Server::Server(std::uint32_t processes, const std::string& secret, const std::string& address,
               std::uint16_t port)
    : secret_(secret),
      listener_(address, port),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      members_(processes) {
  // No pointer: the listener.
  epoll_event event{EPOLLIN, {}};
  if (epoll_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_.fd(), &event) != 0) {
    const int code = errno;
    if (epoll_ >= 0) close(epoll_);
    throw dtutils::Error("rendezvous", "epoll is not to be had", "raise `ulimit -n`", code);
  }
}

Server::~Server() { close(epoll_); }

void Server::watch(std::vector<pollfd>& into) const { into.push_back({epoll_, POLLIN, 0}); }

std::optional<std::chrono::steady_clock::time_point> Server::next_deadline() const {
  std::optional<Clock::time_point> next = exchange_by_;
  const auto also = [&](Clock::time_point time) { next = next ? std::min(*next, time) : time; };
  if (!strangers_.empty()) also(strangers_.front()->came + kHelloTime);
  if (paused_until_) also(*paused_until_);
  return next;
}

void Server::handle(const std::vector<pollfd>&) {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    if (events[i].data.ptr == nullptr) {
      accept_guests();
    } else if (auto& guest = *static_cast<Guest*>(events[i].data.ptr); !guest.closed) {
      serve(guest);
    }
  }
  const auto now = Clock::now();
  drop_late(now);
  if (paused_until_ && now >= *paused_until_) {
    paused_until_.reset();
    listener_.refill();
    epoll_event event{EPOLLIN, {}};
    epoll_ctl(epoll_, EPOLL_CTL_MOD, listener_.fd(), &event);
  }
  if (exchange_by_ && now >= *exchange_by_) {
    std::string missing;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (members_[rank].contribution) continue;
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
    }
    fail_exchange("these processes did not come in time: " + missing);
  }
  free_closed();
}

void Server::drop_late(Clock::time_point now) {
  while (!strangers_.empty() && now >= strangers_.front()->came + kHelloTime) {
    drop(*strangers_.front());
  }
}

void Server::accept_guests() {
  // Not without end: others wait too.
  for (int i = 0; i < 64; ++i) {
    auto accepted = listener_.accept(false);
    if (!accepted && listener_.starved()) accepted = listener_.accept(!make_place());
    if (!accepted) return listener_.starved() ? pause_listening() : void();
    const bool full = strangers_.size() >= kStrangers + (members_.size() - joined_);
    if (accepted->last) {
      send_away(accepted->socket,
                "the launcher has no descriptors left: raise "
                "`ulimit -n` where it runs");
      listener_.refill();
    } else if (full && !make_place()) {
      send_away(accepted->socket, "too many others are at the launcher's door");
    } else {
      auto guest = std::make_unique<Guest>(accepted->socket);
      epoll_event event{EPOLLIN, {guest.get()}};
      // Where this fails, the guest goes again: the kernel has no memory.
      if (epoll_ctl(epoll_, EPOLL_CTL_ADD, accepted->socket, &event) != 0) continue;
      strangers_.push_back(std::move(guest));
      Guest& last = *strangers_.back();
      last.place = std::prev(strangers_.end());
      (void)last.connection.send(Type::kChallenge,
                                 Writer().u32(kProtocol).bytes(last.nonce).take());
    }
  }
}

void Server::pause_listening() {
  constexpr std::chrono::milliseconds kPause{100};
  paused_until_ = Clock::now() + kPause;
  epoll_event event{0, {}};
  epoll_ctl(epoll_, EPOLL_CTL_MOD, listener_.fd(), &event);
}

bool Server::make_place() {
  if (strangers_.empty() || Clock::now() < strangers_.front()->came + kPatience) return false;
  drop(*strangers_.front());
  // Nothing of it may be touched any more but by an event that is being
  // handled, which sees that it is closed; its descriptor is wanted now.
  closed_.back()->connection.close_now();
  return true;
}

void Server::send_away(int socket, const std::string& sentence) {
  Connection(socket).send(Type::kBusy, Writer().text(sentence).take());
}

void Server::serve(Guest& guest) {
  bool open = guest.connection.flush();
  open = guest.connection.receive(guest.rank ? kMaxFrame : kMaxHello) && open;
  while (!guest.closed) {
    const auto frame = guest.connection.next();
    if (!frame) break;
    guest.rank ? serve_member(guest, *frame) : greet(guest, *frame);
  }
  if (guest.closed) return;
  open ? watch_for_room(guest) : lose(guest);
}

void Server::watch_for_room(Guest& guest) {
  const bool wants = guest.connection.has_queued();
  if (wants == guest.wants_room || guest.closed) return;
  guest.wants_room = wants;
  epoll_event event{EPOLLIN | (wants ? EPOLLOUT : 0u), {&guest}};
  epoll_ctl(epoll_, EPOLL_CTL_MOD, guest.connection.fd(), &event);
}

std::string Server::refusal(const Guest& guest, const Bytes& hello, Greeting& greeting) {
  Reader reader(hello);
  const auto protocol = reader.u32();
  if (!protocol) return "this is no greeting of a Cariama process";
  if (*protocol != kProtocol) {
    return fmt::format(
        "the process speaks rendezvous protocol {}, the "
        "launcher {}: use one version",
        *protocol, kProtocol);
  }
  const auto nonce = reader.bytes();
  const auto rank = reader.u32();
  const auto size = reader.u32();
  const auto build = reader.text();
  const auto proof = reader.bytes();
  if (!proof || nonce->size() != sizeof(Nonce)) return "this is no greeting of a Cariama process";
  greeting.launcher = guest.nonce;
  std::ranges::copy(*nonce, greeting.process.begin());
  greeting.rank = *rank;
  greeting.size = *size;
  greeting.build = *build;
  const bool knows = secret_.accepts(Side::kProcess, greeting, *proof);
  greeting.build = {};
  // Before anything about the job is told.
  if (!knows) return "the job secret is wrong: this is another job";
  if (*size != members_.size()) {
    return fmt::format("the process expects {} processes, the job has {}", *size, members_.size());
  }
  if (*rank >= members_.size()) {
    return fmt::format("there is no rank {} in a job of {} processes", *rank, members_.size());
  }
  if (members_[*rank].joined) return fmt::format("rank {} has joined already", *rank);
  if (joined_ == 0) build_ = *build;
  if (*build != build_) {
    return fmt::format(
        "the builds differ: this process is \"{}\", the first "
        "one to join is \"{}\"",
        *build, build_);
  }
  greeting.build = build_;
  return {};
}

void Server::greet(Guest& guest, const Frame& frame) {
  Greeting greeting;
  const std::string sentence =
      frame.type == Type::kHello ? refusal(guest, frame.body, greeting) : "a greeting was expected";
  if (!sentence.empty()) return refuse(guest, sentence);
  known_.splice(known_.end(), strangers_, guest.place);
  guest.rank = greeting.rank;
  members_[greeting.rank].guest = &guest;
  members_[greeting.rank].joined = true;
  ++joined_;
  guest.connection.send(Type::kWelcome,
                        Writer().bytes(secret_.prove(Side::kLauncher, greeting)).take());
}

void Server::refuse(Guest& guest, const std::string& sentence) {
  guest.connection.send(Type::kRefused, Writer().text(sentence).take());
  drop(guest);
}

void Server::serve_member(Guest& guest, const Frame& frame) {
  Member& member = members_[*guest.rank];
  if (frame.type == Type::kGather || frame.type == Type::kScatter) {
    contribute(member, frame);
  } else if (frame.type == Type::kLetter) {
    relay(*guest.rank, frame);
  } else if (frame.type == Type::kGoodbye) {
    gone_ += !member.gone();
    member.left = true;
  } else {
    lose(guest);
  }
}

void Server::relay(std::uint32_t from, const Frame& frame) {
  Reader reader(frame.body);
  const auto to = reader.u32();
  const auto bytes = reader.bytes();
  if (!bytes || *to > members_.size()) return lose(*members_[from].guest);
  const auto letter = make_frame(Type::kLetter, Writer().u32(from).bytes(*bytes).take());
  if (*to < members_.size()) return send(members_[*to], letter);
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
    if (rank != from) send(members_[rank], letter);
  }
}

void Server::send(Member& member, const std::shared_ptr<const Bytes>& frame) {
  if (member.guest == nullptr || member.guest->closed) return;
  // Where it is broken, the next event says so.
  (void)member.guest->connection.send(frame);
  watch_for_room(*member.guest);
}

void Server::drop(Guest& guest) {
  guest.closed = true;
  closed_.splice(closed_.end(), guest.rank ? known_ : strangers_, guest.place);
}

void Server::free_closed() { closed_.clear(); }

void Server::lose(Guest& guest) {
  drop(guest);
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
    gone_ += !member.gone();
    member.left = true;
    if (exchange_) finish_exchange();
  } else {
    fail(rank);
  }
  free_closed();
}

void Server::fail(std::uint32_t rank) {
  gone_ += !members_[rank].gone();
  if (std::exchange(members_[rank].failed, true)) return;
  const auto frame = make_frame(Type::kFailed, Writer().u32(rank).take());
  for (Member& member : members_) send(member, frame);
  if (exchange_) finish_exchange();
}

std::vector<std::uint32_t> Server::not_joined() const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
    if (!members_[rank].joined) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace dsfabric::rendezvous
