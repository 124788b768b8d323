// SPDX-License-Identifier: MIT
// Completion queues in the control segment: many processes push, any thread of the owner polls.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>

#include "shm/layout.hpp"
#include "shm/queue_view.hpp"

namespace dtutils::shm {

/// One completion as a sender or the agent makes it.
struct Completion {
  std::uint64_t wr_id = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;
  ibv_wc_opcode opcode = IBV_WC_SEND;
  std::uint32_t length = 0;
  std::uint32_t immediate = 0;
  std::uint32_t qp_num = 0;
  std::uint32_t source_qp = 0;
  std::uint32_t flags = 0;
  std::uint32_t vendor_error = 0;
  /// Send queue positions given back; 0 for receives.
  std::uint64_t sq_position = 0;
  bool solicited = false;
};

enum class Push : std::uint8_t {
  kDone,
  /// Done, and the queue was armed: the caller writes to its channel.
  kDoneWake,
  /// No room: the queue is broken for good. The caller writes to its channel, if it has one: who
  /// sleeps for a solicited completion would never hear of it otherwise.
  kOverrun,
};

/// Any process that has the segment mapped, any thread; never waits. `record`, if given, holds the
/// claimed position plus one before the completion can be seen (for recovery after a death).
Push push_completion(ControlSegment& segment, const CompletionQueueView& queue, SlotOwner owner,
                     const Completion& completion, std::atomic<std::uint64_t>* record) noexcept;

/// The second half of a push that a sender began and did not live to end: publishes in the slot
/// that it had claimed; when that was detached, frees it and pushes for `owner`. Owner process.
Push publish_for_the_dead(ControlSegment& segment, const CompletionQueueView& queue,
                          CompletionSlot& slot, SlotOwner owner,
                          const Completion& completion) noexcept;

/// True when the next slot in the order of the ring holds a completion, or one that a sender is
/// making. Owner process, any thread.
bool has_completion(ControlSegment& segment, const CompletionQueueView& queue) noexcept;

/// For so long a poll returns without what lies behind a slot that is claimed and not published. A
/// sender takes some 20 ns between the two, unless it is off its core.
inline constexpr std::chrono::nanoseconds kClaimPatience = std::chrono::microseconds(20);

/// Owner process, any thread; never waits. Negative after an overrun, once the queue is empty.
int poll_completions(ControlSegment& segment, const CompletionQueueView& queue, int count,
                     ibv_wc* into, std::chrono::nanoseconds patience = kClaimPatience) noexcept;

/// Calls `visit(slot, word)` for every slot that `owner` has in this state. Owner process.
template <class Visit>
void for_each_slot(ControlSegment& segment, const CompletionQueueView& queue, SlotOwner owner,
                   SlotState state, Visit visit) noexcept {
  for (std::uint64_t i = 0; i < queue.ring.capacity(); ++i) {
    auto& slot = *segment.slot<CompletionSlot>(queue.ring, i);
    const std::uint64_t word = slot.word.load(std::memory_order_acquire);
    if (slot_state(word) == state && slot_owner(word) == owner.bits()) visit(slot, word);
  }
}

/// Turns the unpolled completions of a queue pair, which either side has made, into void ones;
/// their number. Looks at the whole ring. Owner process.
int void_completions(ControlSegment& segment, const CompletionQueueView& queue,
                     std::uint32_t qp_num) noexcept;

}  // namespace dtutils::shm
