// SPDX-License-Identifier: MIT
// The device's data path: the functions behind ibv_post_send, ibv_post_recv, ibv_poll_cq and so on.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include "shm/completion.hpp"
#include "shm/descriptor.hpp"
#include "shm/layout.hpp"
#include "shm/outstanding_receives.hpp"
#include "shm/queue_view.hpp"
#include "shm/segment.hpp"

namespace dtutils::shm {

// A channel or queue that is destroyed while others use it (ibv_destroy_cq(3) answers EBUSY) goes
// with the last of them, so that nothing of theirs ends up in what takes its place. `users` counts
// them, and the program until it destroys the object; under the device's mutex.

struct CompletionQueue;

/// A completion channel of this process: a pipe, whose read end is the channel's fd.
struct Channel {
  void add(CompletionQueue& queue) {
    const std::scoped_lock lock(mutex);
    queues.push_back(&queue);
  }
  void remove(CompletionQueue& queue) noexcept {
    const std::scoped_lock lock(mutex);
    std::erase(queues, &queue);
  }

  ibv_comp_channel verbs{};
  std::uint32_t users = 1;
  Pipe pipe{"no pipe for a completion channel"};
  /// Guards `queues`: a lock of its own, so that threads that wait on different channels do not
  /// wait for each other. After the device's mutex.
  std::mutex mutex;
  /// Those that the program has not destroyed.
  std::vector<CompletionQueue*> queues;
};

/// A completion queue of this process.
struct CompletionQueue {
  CompletionQueue(OwnSegment& own, std::uint32_t depth, ibv_comp_channel* channel);

  ibv_cq verbs{};
  ControlSegment* const segment;
  const IndexLease index;
  const RingLease ring;
  CompletionQueueEntry* const entry;
  const CompletionQueueView view;
  std::uint32_t users = 1;
  /// Zero in the adversarial mode: claims are detached wherever a poll meets one.
  std::chrono::nanoseconds claim_patience = kClaimPatience;
  /// Armed by the program, and no event was given out since.
  std::atomic<bool> event_expected{false};
  /// Set in a forked child: the queue belongs to the parent.
  std::atomic<bool> forked{false};
};

/// A shared receive queue of this process.
struct SharedReceiveQueue {
  SharedReceiveQueue(OwnSegment& own, std::uint32_t pd, std::uint32_t depth, std::uint32_t max_sge);

  ibv_srq verbs{};
  ControlSegment* const segment;
  const IndexLease index;
  const RingLease ring;
  const ReceiveQueueView view;
  /// Held by who posts: threads take turns, as they do on the send queue of a queue pair.
  std::atomic<std::uint32_t> post_lock{0};
  OutstandingReceives outstanding;
  std::uint32_t users = 1;
  /// Set in a forked child: the queue belongs to the parent.
  std::atomic<bool> forked{false};
};

/// Prepares an entry for receives of at most `max_sge` (at least 1) elements.
ReceiveQueueView set_up(ReceiveQueueEntry& entry, const RingLease& ring, std::uint32_t max_sge,
                        std::uint32_t pd, bool shared) noexcept;

/// Fills in `ops` so that the inline functions of <infiniband/verbs.h> arrive here.
void set_operations(ibv_context& context) noexcept;

}  // namespace dtutils::shm
