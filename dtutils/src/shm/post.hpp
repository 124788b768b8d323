// SPDX-License-Identifier: MIT
// The device's data path: the functions behind ibv_post_send, ibv_post_recv, ibv_poll_cq and so on.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>

#include "shm/layout.hpp"

namespace dtutils::shm {

/// A completion channel of this process: a pipe, whose read end is the channel's fd.
struct Channel {
  ibv_comp_channel verbs{};
  PipeName pipe{-1, 0};
};

/// A completion queue of this process.
struct CompletionQueue {
  ibv_cq verbs{};
  ControlSegment* segment = nullptr;
  CompletionQueueEntry* entry = nullptr;
  /// Set in a forked child: the queue belongs to the parent.
  std::atomic<bool> forked{false};
};

/// A shared receive queue of this process.
struct SharedReceiveQueue {
  ibv_srq verbs{};
  ControlSegment* segment = nullptr;
  ReceiveQueueEntry* entry = nullptr;
};

/// Fills in `ops` so that the inline functions of <infiniband/verbs.h> arrive here.
void set_operations(ibv_context& context) noexcept;

}  // namespace dtutils::shm
