// SPDX-License-Identifier: MIT
// OutgoingRing: how it gets its chunks, and more of them.
#include <fmt/format.h>

#include <algorithm>

#include "dsfabric/send_channel.hpp"
#include "dtutils/error.hpp"
#include "ring/ring_registry.hpp"
#include "riutils/detail/outgoing_ring.hpp"
#include "riutils/ring_set.hpp"

namespace riutils {

void OutgoingRing::ask_for_chunks() {
  const auto have = static_cast<std::uint32_t>(circle_.size());
  const std::uint32_t want = have == 0
                                 ? options_.chunks
                                 : std::min({options_.chunk_limit - have, have, Grant::kMaxChunks});
  if (asked_ || refused_ || want == 0) return;
  // First: sending the question may run handlers, whose calls come here too.
  asked_ = true;
  ring_set_.attend_to(*this);
  const GrantRequest request{to_.index, kind_, options_.chunk_bytes, want, consumed_.remote()};
  dsfabric::SendChannel services(ring_set_.fabric());
  const dsfabric::CallStatus sent = services.call_return(
      dsfabric::ThreadId::service_of(to_.process),
      [request](dsfabric::CallContext& call) {
        return RingRegistry::of(call.fabric)->grant(call, request);
      },
      grant_);
  if (sent == dsfabric::CallStatus::kPeerGone) give_up();
  if (sent == dsfabric::CallStatus::kFull) {
    asked_ = false;
    throw dtutils::Error(
        fmt::format("ring to thread {}", to_),
        "too many calls of this process wait for a result, so its memory cannot be "
        "requested",
        "wait for some of those results first");
  }
}

void OutgoingRing::take_grant() {
  asked_ = false;
  Grant grant;
  try {
    grant = grant_.get();
  } catch (const dtutils::Error&) {
    give_up();
    return;
  }
  refused_ = grant.count == 0;
  // Behind the chunk in use, and behind those that are new there. At first there is none in use:
  // the last one then counts as just left.
  const bool first = circle_.empty();
  auto at = circle_.begin() + static_cast<std::ptrdiff_t>(first ? 0 : slot_ + 1 + grown_);
  for (std::uint32_t i = 0; i < grant.count; ++i) {
    at = circle_.insert(at, Slot{grant.chunks[i], {}}) + 1;
  }
  if (!first) {
    grown_ += grant.count;
  } else if (!circle_.empty()) {
    slot_ = circle_.size() - 1;
  }
}

void OutgoingRing::prepare() {
  if (circle_.empty()) ask_for_chunks();
}

void OutgoingRing::setup(const SendPolicy&) {
  while (circle_.empty() && !gone_) {
    if (asked_ && grant_.done()) take_grant();
    if (!circle_.empty() || gone_) return;
    require_chunks();
    ask_for_chunks();
    const bool in_handler = ring_set_.thread().in_handler();
    if (!wait_for_room(in_handler) && in_handler) return;
  }
}

void OutgoingRing::require_chunks() const {
  if (refused_ && circle_.empty()) {
    throw dtutils::Error(
        fmt::format("ring to thread {}", to_),
        fmt::format("its process gave no chunks of {} bytes", options_.chunk_bytes),
        "ask for a smaller ring, or raise the setting memory_limit there");
  }
}

}  // namespace riutils
