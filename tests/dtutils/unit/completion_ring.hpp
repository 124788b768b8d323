// SPDX-License-Identifier: MIT
// A completion queue of the shm device in a segment of its own.
#pragma once

#include <cstdint>

#include "dtutils/unit/shm_ring.hpp"
#include "shm/completion.hpp"
#include "shm/segment.hpp"

namespace support {

/// A queue in a segment of its own, which begins at lap `first_lap`.
struct CompletionRing {
  using Slot = dtutils::shm::CompletionSlot;

  CompletionRing(std::uint32_t depth, std::uint64_t first_lap, std::uint32_t slots_per_entry = 1)
      : lease(own, slots_per_entry * depth, sizeof(Slot)),
        queue(own.shared().completion_queues[0], 0, lease.place(), depth, {-1, 0}) {
    first = first_lap << queue.ring.shift;
    for (std::uint64_t i = 0; i < queue.ring.capacity(); ++i) {
      slot(i).word.store(dtutils::shm::slot_word(first_lap, dtutils::shm::SlotState::kEmpty));
    }
    queue.tail_hint.store(first);
    queue.head_hint.store(first);
  }
  Slot& slot(std::uint64_t position) { return *own.shared().slot<Slot>(queue.ring, position); }
  std::uint64_t lap(std::uint64_t position) const { return position >> queue.ring.shift; }

  dtutils::shm::OwnSegment own;
  dtutils::shm::RingLease lease;
  dtutils::shm::CompletionQueueView queue;
  std::uint64_t first = 0;
};

}  // namespace support
