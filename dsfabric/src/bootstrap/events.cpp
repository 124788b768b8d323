// SPDX-License-Identifier: MIT
// Server: the events of an elastic job, in one order for all.
#include <fmt/format.h>

#include "bootstrap/server.hpp"

namespace dsfabric::rendezvous {

void Server::introduce(Guest& guest, const Frame& frame) {
  const std::uint32_t rank = *guest.rank;
  const auto bytes = Reader(frame.body).bytes();
  if (!bytes || members_[rank].introduced) return lose(guest);
  members_[rank].introduced = true;
  members_[rank].introduction.assign(bytes->begin(), bytes->end());
  members_[rank].changes();
  introduced_ += is_founder(rank);
  tell(JobEvent::Kind::kJoined, rank, *bytes);
}

void Server::accuse(Guest& guest, const Frame& frame) {
  Reader reader(frame.body);
  const auto accused = reader.u32();
  const auto reason = reader.text();
  if (!reason || !members_[*guest.rank].introduced || *accused >= members_.size()) {
    return lose(guest);
  }
  // What it does from here on does not count, whether it has heard of it or not.
  if (is_known(*accused) && !members_[*accused].gone()) {
    fail(*accused, fmt::format("process {} says: {}", *guest.rank, *reason));
  }
}

void Server::tell(JobEvent::Kind kind, std::uint32_t rank, std::span<const std::byte> bytes) {
  events_.push_back(make_frame(
      Type::kEvent, Writer().u32(static_cast<std::uint32_t>(kind)).u32(rank).bytes(bytes).take()));
  for (Member& member : members_) send(member, events_.back());
}

}  // namespace dsfabric::rendezvous
