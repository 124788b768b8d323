// SPDX-License-Identifier: MIT
// Completion queues in the control segment: many processes push, any thread of the owner polls.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "shm/layout.hpp"

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
Push push_completion(ControlSegment& segment, CompletionQueueEntry& queue, SlotOwner owner,
                     const Completion& completion, std::atomic<std::uint64_t>* record) noexcept;

/// Owner process, any thread; never waits. Negative after an overrun, once the queue is empty.
int poll_completions(ControlSegment& segment, CompletionQueueEntry& queue, int count,
                     ibv_wc* into) noexcept;

/// Turns the completions of `owner` that are in `from` state into void ones; their number.
int void_completions(ControlSegment& segment, CompletionQueueEntry& queue, SlotOwner owner,
                     SlotState from) noexcept;

}  // namespace dtutils::shm
