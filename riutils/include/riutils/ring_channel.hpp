// SPDX-License-Identifier: MIT
// What all channels over rings have in common.
#pragma once

#include <cassert>
#include <cstdint>

#include "dsfabric/calls.hpp"
#include "riutils/station.hpp"
#include "riutils/try_call.hpp"

namespace riutils {

/// The channel that dsfabric::Calls is mixed into, so that Messenger and Aggregator have the whole
/// family of calls. Owner thread only, while the work of run() lasts: builds with assertions check
/// it at each call.
template <class Channel>
class RingChannel : public dsfabric::Calls<Channel> {
 public:
  dsfabric::Fabric& fabric() const noexcept { return station_->fabric(); }
  Station& station() const noexcept { return *station_; }

  /// Asks for the ring's memory now, and waits for it; inside a handler it only asks. Throws Error
  /// as the first call would.
  void setup(dsfabric::ThreadId to) { (void)station_->ring(to, ring_).setup(policy_); }

  // What Calls needs.
  std::byte* reserve(dsfabric::ThreadId to, std::uint32_t function, std::uint32_t bytes) {
    assert_mine();
    OutgoingRing* ring = station_->find(to);
    if (ring == nullptr) ring = &station_->ring(to, ring_);
    ring->require_fit(bytes, ring_.chunk_bytes);
    std::byte* const space = ring->reserve(function, bytes, policy_);
    // Not before: while a fiber waits for room, others of its thread call through this channel.
    current_ = ring;
    return space;
  }
  dsfabric::CallStatus refusal() const noexcept {
    return current_->gone() ? dsfabric::CallStatus::kPeerGone : dsfabric::CallStatus::kFull;
  }
  bool commit(dtutils::Synchronizer* sent) noexcept { return current_->commit(sent, policy_); }
  std::uint32_t index_at(dsfabric::ThreadId to, std::uint32_t function) {
    return station_->ring(to, ring_).same_program()
               ? function
               : dsfabric::detail::index_at(fabric(), to, function);
  }
  dtutils::Transmitter& transmitter(dsfabric::ThreadId to) {
    return station_->ring(to, ring_).transmitter();
  }

 protected:
  RingChannel(dsfabric::Thread& self, const RingOptions& ring, const SendPolicy& policy)
      : station_(&Station::of(self)), policy_(policy), ring_(ring) {
    station_->prefer(ring);
  }
  RingChannel(const RingChannel&) = delete;
  RingChannel& operator=(const RingChannel&) = delete;
  ~RingChannel() = default;

  void assert_mine() const noexcept {
    assert(station_->is_mine() && "cariama: a channel over rings is for the worker that made it");
  }

  /// Station::find for calls that are sent at once. Most go where the last one went; then it is one
  /// load instead of five that follow from one another. (messenger_rate at 8 / 64 / 256 bytes: 56 /
  /// 44 / 37 to 65 / 52 / 42 M/s. Not for gathered calls: one destination 470 to 600 M/s, but four
  /// workers that call each other at random 374 to 337.)
  OutgoingRing* find_again(dsfabric::ThreadId to) noexcept {
    assert_mine();
    if (last_ == nullptr || to != last_to_) [[unlikely]] {
      last_ = station_->find(to);
      last_to_ = to;
    }
    return last_;
  }

  Station* station_;
  OutgoingRing* current_ = nullptr;
  OutgoingRing* last_ = nullptr;
  dsfabric::ThreadId last_to_;
  SendPolicy policy_;
  RingOptions ring_;
};

}  // namespace riutils
