// SPDX-License-Identifier: MIT
// Receive queues in the control segment: the owner posts, the peers' senders take.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "shm/layout.hpp"

namespace dtutils::shm {

/// A receive taken out of a queue.
struct Receive {
  std::uint64_t wr_id = 0;
  std::uint32_t sge_count = 0;
  ibv_sge elements[kMaxScatterGather];
};

/// Owner process, any thread. False when the queue is full.
bool push_receive(ControlSegment& segment, ReceiveQueueEntry& queue,
                  const ibv_recv_wr& request) noexcept;

/// Takes the oldest receive for `receiver`, whose entry remembers it until `finish_receive`; false
/// when none is posted. The sender connected to `receiver`, under its send lock; or the owner.
bool take_receive(ControlSegment& segment, ReceiveQueueEntry& queue, QueuePairEntry& receiver,
                  Receive& into) noexcept;

/// Marks the taken receive as completed.
inline void finish_receive(QueuePairEntry& receiver) noexcept {
  // Release: pairs with the agent's acquire load after the sender died.
  receiver.in_flight.store(0, std::memory_order_release);
}

/// The sender of `receiver` died: frees what it held in both queues. True when a receive was in its
/// hands and not completed; `wr_id` names it. Owner's agent only.
bool recover_receive(ControlSegment& segment, ReceiveQueueEntry& queue,
                     CompletionQueueEntry& completions, QueuePairEntry& receiver,
                     std::uint64_t& wr_id) noexcept;

}  // namespace dtutils::shm
