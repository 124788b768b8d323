// SPDX-License-Identifier: MIT
// Group: a worker's handle to what its process has of a group.
#include "dsfabric/group.hpp"

#include <fmt/format.h>

#include <utility>

#include "collectives/groups.hpp"
#include "collectives/termination.hpp"
#include "dsfabric/detail/inside.hpp"
#include "dsfabric/fabric.hpp"
#include "dtutils/error.hpp"
#include "threads/handler_rules.hpp"

namespace dsfabric {

Group::Group(Thread& self, std::vector<ThreadId> members)
    : self_(self),
      core_(detail::Inside::groups(self.fabric())
                .make(detail::Inside::threads(self.fabric()).mine(), std::move(members))),
      size_(core_->participants.total()),
      rank_(core_->participants.rank_of(self.id())) {}

Group::~Group() { detail::Inside::groups(self_.fabric()).leave(std::move(core_)); }

ThreadId Group::member(std::uint32_t rank) const noexcept {
  return core_->participants.worker(rank);
}

std::uint64_t Group::key() const noexcept { return core_->key; }

void Group::barrier() {
  core_->of_all.publish();
  core_->collectives.barrier(detail::Inside::threads(self_.fabric()).mine(), Collective::kBarrier);
}

std::uint32_t Group::require_rank(ThreadId root) const {
  const std::uint32_t rank = core_->participants.rank_of(root);
  if (rank < size_) return rank;
  throw dtutils::Error("Group::broadcast()", fmt::format("its root {} is no member", root),
                       "ask Group::member for one");
}

void Group::gather_bytes(Collective kind, std::span<const std::byte> mine, std::span<std::byte> all,
                         std::uint32_t root) {
  core_->of_all.publish();
  core_->collectives.gather(detail::Inside::threads(self_.fabric()).mine(), kind, mine, all, root);
}

void wait_for_termination(Group& group) {
  Fabric& fabric = group.self_.fabric();
  ThreadContext& context = detail::Inside::threads(fabric).mine();
  if (context.in_handler) refuse_handlers("wait_for_termination()");
  if (!group.core_->participants.has_whole_processes()) {
    throw dtutils::Error(
        "wait_for_termination()",
        "the group has some workers of a process, and calls are counted by process",
        "make a group of all workers of its processes");
  }
  detail::Inside::termination(fabric).wait(group.self_, context, group.core_->collectives);
}

}  // namespace dsfabric
