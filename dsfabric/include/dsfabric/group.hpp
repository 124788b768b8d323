// SPDX-License-Identifier: MIT
// A group: some workers of the job, and collectives, broadcasts and termination among them alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dsfabric/collective_calls.hpp"
#include "dsfabric/ids.hpp"
#include "dsfabric/thread.hpp"

namespace dsfabric {

class GroupCore;

/// What MPI calls a communicator. Its members are any workers of the job, known by their rank in
/// the order in which they were named; one may be in several groups, and use them in turns. Members
/// of different groups do so at the same time, also in one process. The whole job needs no Group:
/// Thread has the same collectives.
///
/// The failure of a process ends the collectives of the groups that it has a member in, and of no
/// others: survivors make another group and go on. Which failures count is what this process
/// believes, as for all collectives, so who needs one answer everywhere asks sst::Membership first.
///
///     Group pair{self, {ThreadId{{0}, 0}, ThreadId{{2}, 0}}};  // on these two workers
///     const auto sum = pair.all_reduce(mine);
///
/// Owner thread only.
class Group : public CollectiveCalls<Group> {
 public:
  /// A collective of `members`: each of them calls it with the same list, and makes its groups in
  /// the order in which the others make those that they share. Throws Error when a member does not
  /// exist, comes twice, or this worker is none, when there is no registered memory left, and when
  /// a process does not come within Config::start_timeout; PeerFailed when one has failed. Setup
  /// only.
  Group(Thread& self, std::vector<ThreadId> members);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  /// Not a collective; before the end of run(). What was begun over the group has ended.
  ~Group();

  /// Members.
  std::uint32_t size() const noexcept { return size_; }
  /// Of this worker.
  std::uint32_t rank() const noexcept { return rank_; }
  /// The member of that rank, below size().
  ThreadId member(std::uint32_t rank) const noexcept;
  /// The worker that made it.
  Thread& worker() const noexcept { return self_; }
  /// By what other members know it, for Calls: the same at all of them.
  std::uint64_t key() const noexcept;

  /// Returns when all members have called it; what each wrote before to processes of the group is
  /// visible to all (Thread::barrier).
  void barrier();

 private:
  friend CollectiveCalls<Group>;
  friend void wait_for_termination(Group& group);
  std::uint32_t workers() const noexcept { return size_; }
  std::uint32_t require_rank(ThreadId root) const;
  void gather_bytes(Collective kind, std::span<const std::byte> mine, std::span<std::byte> all,
                    std::uint32_t root);

  Thread& self_;
  std::shared_ptr<GroupCore> core_;
  std::uint32_t size_;
  std::uint32_t rank_;
};

}  // namespace dsfabric
