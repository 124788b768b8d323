// SPDX-License-Identifier: MIT
// What all channels over rings have in common.
#pragma once

#include <cassert>
#include <cstdint>

#include "dsfabric/calls.hpp"
#include "riutils/detail/outgoing_ring.hpp"
#include "riutils/ring_set.hpp"

namespace riutils::detail {

/// The channel that dsfabric::Calls is mixed into, so that Messenger and Aggregator have the whole
/// family of calls. Owner thread only, while the work of run() lasts: builds with assertions check
/// it at each call.
template <class Channel>
class RingChannel : public dsfabric::Calls<Channel> {
 public:
  /// The fabric of the worker. Any thread, wait-free.
  dsfabric::Fabric& fabric() const noexcept { return ring_set_->fabric(); }
  /// The rings of the worker that made this channel.
  RingSet& ring_set() const noexcept { return *ring_set_; }

  /// Asks for the ring's memory now, and waits for it; inside a handler it only asks. Throws Error
  /// as the first call would.
  void setup(dsfabric::ThreadId to) { (void)ring_set_->ring(to, ring_).setup(policy_); }

  // What Calls needs.
  /// See dsfabric::CallChannel. Throws Error when the call can never fit into a chunk.
  std::byte* reserve(dsfabric::ThreadId to, std::uint32_t function, std::uint32_t bytes) {
    assert_mine();
    OutgoingRing* ring = ring_set_->find(to);
    if (ring == nullptr) ring = &ring_set_->ring(to, ring_);
    ring->require_fit(bytes, ring_.chunk_bytes);
    std::byte* const space = ring->reserve(function, bytes, policy_);
    // Not before: while a fiber waits for room, others of its thread call through this channel.
    current_ = ring;
    return space;
  }
  /// See dsfabric::CallChannel.
  dsfabric::CallStatus refusal() const noexcept {
    return current_->gone() ? dsfabric::CallStatus::kPeerGone : dsfabric::CallStatus::kFull;
  }
  /// See dsfabric::CallChannel.
  bool commit(dtutils::Synchronizer* sent) noexcept { return current_->commit(sent, policy_); }
  /// See dsfabric::CallChannel.
  std::uint32_t index_at(dsfabric::ThreadId to, std::uint32_t function) {
    return ring_set_->ring(to, ring_).same_program()
               ? function
               : dsfabric::detail::index_at(fabric(), to, function);
  }
  /// See dsfabric::CallChannel.
  dtutils::Transmitter& transmitter(dsfabric::ThreadId to) {
    return ring_set_->ring(to, ring_).transmitter();
  }

 protected:
  /// For the calling worker. Setup only.
  RingChannel(dsfabric::Thread& self, const RingOptions& ring, const SendPolicy& policy)
      : ring_set_(&RingSet::of(self)), policy_(policy), ring_(ring) {
    ring_set_->prefer(ring);
  }
  RingChannel(const RingChannel&) = delete;
  RingChannel& operator=(const RingChannel&) = delete;
  ~RingChannel() = default;

  /// Checks, in builds with assertions, that the worker that made the channel uses it.
  void assert_mine() const noexcept {
    assert(ring_set_->is_mine() && "cariama: a channel over rings is for the worker that made it");
  }

  /// RingSet::find for calls that are sent at once. Most go where the last one went; then it is one
  /// load instead of five that depend on each other. Not for batched calls: it makes calls to one
  /// destination faster, and calls to random destinations slower.
  OutgoingRing* find_again(dsfabric::ThreadId to) noexcept {
    assert_mine();
    if (last_ == nullptr || to != last_to_) [[unlikely]] {
      last_ = ring_set_->find(to);
      last_to_ = to;
    }
    return last_;
  }

  /// The rings of the worker.
  RingSet* ring_set_;
  /// The ring of the last reserve().
  OutgoingRing* current_ = nullptr;
  /// The ring of the last find_again(), to `last_to_`.
  OutgoingRing* last_ = nullptr;
  /// The destination of `last_`.
  dsfabric::ThreadId last_to_;
  /// When calls are sent, and what they do while the ring is full.
  SendPolicy policy_;
  /// For rings that this channel is the first to use.
  RingOptions ring_;
};

}  // namespace riutils::detail
