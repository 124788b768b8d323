// SPDX-License-Identifier: MIT
// Server: its guests, what members say, and obituaries.
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
               std::uint16_t port, std::uint32_t capacity)
    : secret_(secret),
      listener_(address, port),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      founders_(processes),
      capacity_(capacity),
      members_(processes) {
  // Nobody holds a Member while there come more, but their number is known.
  members_.reserve(std::max(processes, capacity));
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
    for (std::size_t rank = 0; rank < founders_; ++rank) {
      if (members_[rank].contribution) continue;
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
    }
    fail_exchange("these processes did not come in time: " + missing);
  }
  send_unsent();
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
    const bool full = strangers_.size() >= kStrangers + (founders_ - joined_);
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

void Server::serve_member(Guest& guest, const Frame& frame) {
  Member& member = members_[*guest.rank];
  const bool exchanges = frame.type == Type::kGather || frame.type == Type::kScatter;
  if (elastic() && member.gone()) {
    // It has left, or has been given up: nothing that it says counts.
  } else if (exchanges && is_founder(*guest.rank)) {
    contribute(member, frame);
  } else if (frame.type == Type::kLetter) {
    relay(*guest.rank, frame);
  } else if (frame.type == Type::kGoodbye) {
    leave(*guest.rank);
  } else if (frame.type == Type::kIntroduce && elastic()) {
    introduce(guest, frame);
  } else if (frame.type == Type::kAccuse && elastic()) {
    accuse(guest, frame);
  } else {
    lose(guest);
  }
}

void Server::leave(std::uint32_t rank) {
  Member& member = members_[rank];
  if (member.gone()) return;
  member.left = true;
  member.changes();
  gone_ += is_founder(rank);
  if (elastic() && is_known(rank)) tell(JobEvent::Kind::kLeft, rank, {});
}

void Server::relay(std::uint32_t from, const Frame& frame) {
  Reader reader(frame.body);
  const auto to = reader.u32();
  const auto bytes = reader.bytes();
  const bool to_all = to == kAllOthers;
  if (!bytes || !is_known(from) || (!to_all && *to >= members_.size())) {
    return lose(*members_[from].guest);
  }
  const auto letter = make_frame(Type::kLetter, Writer().u32(from).bytes(*bytes).take());
  if (!to_all) return send(members_[*to], letter);
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
    if (rank != from && is_known(rank)) send(members_[rank], letter);
  }
}

void Server::send(Member& member, const std::shared_ptr<const Bytes>& frame) {
  if (member.guest == nullptr || member.guest->closed) return;
  member.guest->connection.queue(frame);
  if (!std::exchange(member.guest->unsent, true)) unsent_.push_back(member.guest);
}

void Server::send_unsent() {
  for (Guest* const guest : unsent_) {
    guest->unsent = false;
    if (guest->closed) continue;
    // Where it is broken, the next event says so.
    (void)guest->connection.flush();
    watch_for_room(*guest);
  }
  unsent_.clear();
}

void Server::drop(Guest& guest) {
  (void)guest.connection.flush();
  guest.closed = true;
  closed_.splice(closed_.end(), guest.rank ? known_ : strangers_, guest.place);
}

void Server::free_closed() { closed_.clear(); }

void Server::lose(Guest& guest) {
  drop(guest);
  if (!guest.rank) return;
  const std::uint32_t rank = *guest.rank;
  members_[rank].guest = nullptr;
  if (!members_[rank].left) fail(rank, "the launcher says that it ended");
}

void Server::process_ended(std::uint32_t rank, bool in_order) {
  Member& member = members_[rank];
  // Its goodbye may have arrived since the last look.
  if (member.guest != nullptr) serve(*member.guest);
  if (member.left || (in_order && !member.joined)) {
    leave(rank);
    if (exchange_) finish_exchange();
  } else {
    fail(rank, "the launcher says that it ended");
  }
  send_unsent();
  free_closed();
}

void Server::fail(std::uint32_t rank, const std::string& reason) {
  Member& failed = members_[rank];
  gone_ += is_founder(rank) && !failed.gone();
  if (std::exchange(failed.failed, true)) return;
  failed.changes();
  failed.reason = reason;
  if (elastic()) {
    if (is_known(rank)) tell(JobEvent::Kind::kFailed, rank, std::as_bytes(std::span(reason)));
  } else {
    const auto frame = make_frame(Type::kFailed, Writer().u32(rank).take());
    for (Member& member : members_) send(member, frame);
  }
  if (exchange_) finish_exchange();
}

std::vector<std::uint32_t> Server::not_joined() const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < founders_; ++rank) {
    if (!members_[rank].joined) ranks.push_back(rank);
  }
  return ranks;
}

std::uint32_t Server::members() const noexcept {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      members_, [](const Member& each) { return each.joined && !each.gone(); }));
}

}  // namespace dsfabric::rendezvous
