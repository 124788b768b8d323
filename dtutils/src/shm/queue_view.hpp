// SPDX-License-Identifier: MIT
// Queues of a control segment as one process sees them: checked once, kept where no peer writes.
#pragma once

#include <atomic>
#include <cstdint>

#include "shm/layout.hpp"

namespace dtutils::shm {

class SegmentMap;

/// Completions that a queue with this ring grants; slots may be skipped, see slot_word.hpp.
inline std::uint64_t granted_completions(const RingPlace& ring) noexcept {
  return ring.capacity() / kSlotsPerEntry;
}

constexpr std::uint32_t receive_slot_size(std::uint32_t max_sge) noexcept {
  return static_cast<std::uint32_t>(sizeof(ReceiveSlot) + max_sge * sizeof(ReceiveSlot::Element));
}

/// A position that one process has seen a queue at. A copy has seen nothing.
struct PositionSeen {
  PositionSeen() noexcept = default;
  PositionSeen(const PositionSeen&) noexcept {}
  PositionSeen& operator=(const PositionSeen&) = delete;

  std::atomic<std::uint64_t> value{0};
};

/// A completion queue. What the control segment says of it may change under our eyes, since every
/// process that has the segment mapped may write there; these copies do not.
struct CompletionQueueView {
  CompletionQueueView(CompletionQueueEntry& entry, std::uint32_t number, const RingPlace& place,
                      std::uint64_t granted, const PipeName& pipe) noexcept
      : index(number),
        ring(place),
        depth(granted),
        channel(pipe),
        overrun(entry.overrun),
        tail_hint(entry.tail_hint),
        head_hint(entry.head_hint),
        claim_seen(entry.claim_seen),
        claim_seen_at(entry.claim_seen_at),
        armed(entry.armed) {}

  const std::uint32_t index;
  const RingPlace ring;
  /// Completions that it holds at most.
  const std::uint64_t depth;
  const PipeName channel;
  /// No completion before this position is left to poll: what this process saw last.
  mutable PositionSeen head_seen;
  std::atomic<std::uint32_t>& overrun;
  std::atomic<std::uint64_t>& tail_hint;
  std::atomic<std::uint64_t>& head_hint;
  std::atomic<std::uint64_t>& claim_seen;
  std::atomic<std::uint64_t>& claim_seen_at;
  std::atomic<std::uint32_t>& armed;
};

/// A receive queue, in the same way.
struct ReceiveQueueView {
  ReceiveQueueView(ReceiveQueueEntry& entry, const RingPlace& place, std::uint32_t max_elements,
                   std::uint32_t domain, bool is_shared) noexcept
      : ring(place),
        max_sge(max_elements),
        pd(domain),
        shared(is_shared),
        tail_hint(entry.tail_hint),
        head_hint(entry.head_hint) {}

  const RingPlace ring;
  const std::uint32_t max_sge;
  const std::uint32_t pd;
  const bool shared;
  std::atomic<std::uint64_t>& tail_hint;
  std::atomic<std::uint64_t>& head_hint;
};

/// The queue of this index in a peer's segment, mapped. Throws Error when there is none, or when it
/// cannot be what it says it is. Setup only.
CompletionQueueView view_completion_queue(SegmentMap& map, std::uint32_t index);
ReceiveQueueView view_receive_queue(SegmentMap& map, std::uint32_t index);

}  // namespace dtutils::shm
