// SPDX-License-Identifier: MIT
// Where all workers tell that they have executed a broadcast.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "dsfabric/detail/pending_reply.hpp"
#include "dsfabric/fabric.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/synchronizer.hpp"

namespace dsfabric {

class Group;

/// One Synchronizer for each worker of the job, in registered memory, where that worker decrements
/// it by an RDMA write. For one broadcast at a time. Owner thread only; the fabric outlives it.
class ExecutionSlots {
 public:
  /// Throws Error when there is no registered memory left. Setup only.
  explicit ExecutionSlots(Fabric& fabric);
  ExecutionSlots(const ExecutionSlots&) = delete;
  ExecutionSlots& operator=(const ExecutionSlots&) = delete;
  ~ExecutionSlots();

  /// Waits, serving incoming calls, until every worker has reported, or its process has failed.
  /// Returns the workers that have not executed it, as far as known: their process is gone, or the
  /// callable threw there. When a process dies, calls that it had to forward may be lost: one
  /// second later, the workers that have not reported are returned too. Throws Error when an inline
  /// handler would have to wait here.
  std::vector<ThreadId> wait();

  // What Calls needs: prepares for a broadcast; ends all because none was sent; the words.
  /// For Calls: prepares for one broadcast, to the members of the group; nullptr: to all workers.
  /// Throws Error while reports of another one are awaited.
  void expect(const Group* group = nullptr);
  /// For Calls: the broadcast was not sent; ends all waits as failed.
  void refuse() noexcept;
  /// For Calls: where workers report that they have executed the broadcast.
  dtutils::RemoteMemoryLocator words() const noexcept { return memory_.remote(); }

 private:
  /// Other memory instead of what there is.
  void renew();
  /// Late news may still be written there: the memory serves nobody else any more.
  void retire_memory() noexcept;
  dtutils::Synchronizer* word(std::uint32_t rank) const noexcept;

  Fabric& fabric_;
  dtutils::RDMAMemory memory_;
  std::unique_ptr<std::optional<detail::PendingReply>[]> tied_;
  std::uint32_t failures_ = 0;
};

}  // namespace dsfabric
