// SPDX-License-Identifier: MIT
// Receive queues in the control segment: the owner posts, the peers' senders take.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "shm/layout.hpp"
#include "shm/queue_view.hpp"

namespace dtutils::shm {

/// A receive taken out of a queue.
struct Receive {
  std::uint64_t wr_id = 0;
  std::uint32_t sge_count = 0;
  ibv_sge elements[kMaxScatterGather];
};

// Who may touch a posted receive when (protocol of its slot: slot_word.hpp). The owner's posting
// thread until it is full; then nobody, until a taker wins it: the sender connected to a queue pair
// of the owner, or the owner itself when it flushes. From then on that taker owes the owner one
// completion. A sender may die with this debt, so it writes it down in the queue pair's entry
// before it gives the slot back, and strikes it out after the completion was published. Wherever it
// dies, the debt is in the slot, in the entry, in both (counted once), or paid:
//
//   slot taken | in_flight = 1 | slot freed | completion claimed | its position noted | published |
//   in_flight = 0
//
// recover_receive() reads off which. It runs when the sender cannot run any more.

/// Owner process, any thread. The position in the ring; nothing when the ring is full: a shared one
/// never is while at most half of its slots are posted or in the hands of senders, however long
/// these keep them.
std::optional<std::uint64_t> push_receive(ControlSegment& segment, const ReceiveQueueView& queue,
                                          const ibv_recv_wr& request) noexcept;

/// Takes the oldest receive for `receiver`, whose entry remembers it until `finish_receive`; false
/// when none is posted. The sender connected to `receiver`, under its send lock.
bool take_receive(ControlSegment& segment, const ReceiveQueueView& queue, QueuePairEntry& receiver,
                  Receive& into) noexcept;

/// Takes the oldest receive back. Owner process, any thread.
bool withdraw_receive(ControlSegment& segment, const ReceiveQueueView& queue, std::uint32_t qp_num,
                      Receive& into) noexcept;

/// Marks the taken receive as completed.
inline void finish_receive(QueuePairEntry& receiver) noexcept {
  // Release: pairs with the agent's acquire load after the sender died.
  receiver.in_flight.store(0, std::memory_order_release);
}

/// What a dead sender owed for a receive.
struct LostReceive {
  std::uint64_t wr_id = 0;
  /// The completion that it had claimed, for publish_for_the_dead(); or nullptr.
  CompletionSlot* claimed = nullptr;
};

/// The sender of `receiver` died: frees what it held in the receive queue. True when a receive was
/// in its hands and not completed. May be repeated; then false. Owner process, under the send lock
/// of `receiver`.
bool recover_receive(ControlSegment& segment, const ReceiveQueueView& queue,
                     const CompletionQueueView& completions, QueuePairEntry& receiver,
                     LostReceive& lost) noexcept;

}  // namespace dtutils::shm
