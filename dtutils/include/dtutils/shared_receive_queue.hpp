// SPDX-License-Identifier: MIT
// Owner of an ibv_srq: receive buffers that many queue pairs draw from.
#pragma once

#include "dtutils/memory_region.hpp"

namespace dtutils {

/// Owns an ibv_srq. Queue pairs that use it are destroyed before it.
class SharedReceiveQueue {
 public:
  /// At most `depth` receives can be posted at once, each of one buffer. Setup only.
  SharedReceiveQueue(ProtectionDomain& pd, std::uint32_t depth);
  SharedReceiveQueue(const SharedReceiveQueue&) = delete;
  SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;
  ~SharedReceiveQueue() { device_.destroy_srq(srq_); }

  /// Gives a buffer to the next message that arrives on any queue pair of this queue; `id` comes
  /// back as `wr_id` of its completion. False when `depth` buffers are posted. Any thread;
  /// those that post at the same time take turns.
  [[nodiscard]] bool post_receive(LocalBuffer buffer, std::uint64_t id) noexcept;

  /// The verbs object. Any thread, wait-free.
  ibv_srq* raw() const noexcept { return srq_; }

 private:
  Device& device_;
  ibv_srq* srq_;
};

}  // namespace dtutils
