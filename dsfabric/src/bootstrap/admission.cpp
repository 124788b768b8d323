// SPDX-License-Identifier: MIT
// Server: who is let in, and what the others are told in words.
#include <fmt/format.h>

#include <algorithm>

#include "bootstrap/server.hpp"

namespace dsfabric::rendezvous {

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
  const bool knows = secret_.accepts(HandshakeRole::kInitiator, greeting, *proof);
  greeting.build = {};
  // Before anything about the job is told.
  if (!knows) return "the job secret is wrong: this is another job";
  const bool newcomer = *rank == kNewcomer;
  if (newcomer) {
    std::string sentence = refusal_of_newcomer();
    // Before the job has begun, it is told to come again.
    if (!sentence.empty() || !begun()) return sentence;
  } else {
    if (*size != founders_) {
      return fmt::format("the process expects {} processes, the job has {}", *size, founders_);
    }
    if (*rank >= founders_) {
      return fmt::format("there is no rank {} in a job of {} processes", *rank, founders_);
    }
    if (members_[*rank].joined) return fmt::format("rank {} has joined already", *rank);
    if (joined_ == 0) build_ = *build;
  }
  if (*build != build_) {
    return fmt::format("the builds differ: this process is \"{}\", the first one to join is \"{}\"",
                       *build, build_);
  }
  greeting.build = build_;
  return {};
}

std::string Server::refusal_of_newcomer() const {
  if (!elastic()) {
    return "the job takes no newcomers: its processes are fixed, unless it is started as an "
           "elastic one";
  }
  for (std::uint32_t rank = 0; rank < founders_; ++rank) {
    if (members_[rank].gone() && !members_[rank].introduced) {
      return fmt::format("the job cannot begin any more: rank {} ended before it had joined", rank);
    }
  }
  if (begun() && members_.size() == capacity_) {
    return fmt::format(
        "the job is full: it was started for {} processes in the course of its life, and has had "
        "so many",
        capacity_);
  }
  return {};
}

void Server::greet(Guest& guest, const Frame& frame) {
  Greeting greeting;
  const std::string sentence =
      frame.type == Type::kHello ? refusal(guest, frame.body, greeting) : "a greeting was expected";
  if (sentence.empty() && greeting.rank == kNewcomer && !begun()) {
    guest.connection.send(Type::kBusy,
                          Writer().text("some of those who start the job have not come").take());
    return drop(guest);
  }
  if (!sentence.empty()) return refuse(guest, sentence);
  known_.splice(known_.end(), strangers_, guest.place);
  if (greeting.rank == kNewcomer) {
    greeting.rank = static_cast<std::uint32_t>(members_.size());
    greeting.size = founders_;
    members_.emplace_back();
  } else {
    ++joined_;
  }
  guest.rank = greeting.rank;
  members_[greeting.rank].guest = &guest;
  members_[greeting.rank].joined = true;
  members_[greeting.rank].changes();
  guest.connection.send(Type::kWelcome,
                        Writer()
                            .u32(greeting.rank)
                            .u32(greeting.size)
                            .u32(capacity_)
                            .bytes(secret_.prove(HandshakeRole::kResponder, greeting))
                            .take());
  for (const auto& event : events_) guest.connection.send(event);
}

void Server::refuse(Guest& guest, const std::string& sentence) {
  guest.connection.send(Type::kRefused, Writer().text(sentence).take());
  drop(guest);
}

}  // namespace dsfabric::rendezvous
