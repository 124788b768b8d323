// SPDX-License-Identifier: MIT
// What broadcasts need beside their templates.
#include "dsfabric/detail/broadcast.hpp"

#include <fmt/format.h>

#include "calls/held.hpp"
#include "collectives/groups.hpp"
#include "dsfabric/detail/inside.hpp"
#include "dsfabric/thread.hpp"
#include "dtutils/error.hpp"

namespace dsfabric {

SymmetricBuffer::SymmetricBuffer(Thread& self, std::size_t bytes)
    : fabric_(self.fabric()),
      size_(bytes),
      memory_(fabric_.general_allocator(self.zone()).allocate(bytes)) {
  dtutils::RemoteMemoryLocator mine = memory_.remote();
  mine.process = self.id().process.value;
  all_ = self.all_gather(Place{mine, reinterpret_cast<std::uint64_t>(this), bytes});
  for (std::uint32_t rank = 0; rank < all_.size(); ++rank) {
    if (all_[rank].bytes == bytes) continue;
    throw dtutils::Error(
        "SymmetricBuffer",
        fmt::format("thread {} makes one of {} bytes, and thread {} of {}", self.id(), bytes,
                    fabric_.thread_of_rank(rank), all_[rank].bytes),
        "give the same size on all workers");
  }
  // Whoever has all of them may use them; handlers of its calls, which run while others still
  // gather, would find theirs empty.
  self.barrier();
}

namespace detail {

Tree tree_of(Fabric& fabric, const ExecutionSlots* executed) {
  if (fabric.process().value >= fabric.founders()) {
    throw dtutils::Error("a broadcast to the whole job",
                         fmt::format("it is for the processes that started the job, and process {} "
                                     "has come later",
                                     fabric.process().value),
                         "make a Group of the workers that it shall reach");
  }
  const Thread* const self = fabric.current_thread();
  const ThreadId root = self != nullptr ? self->id() : ThreadId{fabric.process(), 0};
  return {executed != nullptr ? executed->words() : dtutils::RemoteMemoryLocator{},
          self != nullptr ? root : ThreadId::service_of(fabric.process()), fabric.rank_of(root), 0,
          fabric.total_threads()};
}

Tree tree_of(const Group& group, const ExecutionSlots* executed) noexcept {
  return {executed != nullptr ? executed->words() : dtutils::RemoteMemoryLocator{},
          group.worker().id(),
          group.rank(),
          0,
          group.size(),
          group.key()};
}

ThreadId first_of(Fabric& fabric, const Tree& tree) {
  if (tree.group == 0) {
    return fabric.thread_of_rank((tree.root + tree.first) % fabric.total_threads());
  }
  const GroupCore* const group = Inside::groups(fabric).find(tree.group);
  if (group == nullptr) {
    throw dtutils::Error("a broadcast over a Group", "this process has no such group any more",
                         "destroy a Group when all that was begun over it has ended");
  }
  const Participants& all = group->participants;
  return all.worker((tree.root + tree.first) % all.total());
}

bool write_to(Fabric& fabric, dtutils::LocalBuffer from, const SymmetricBuffer& into, ThreadId to) {
  const dtutils::RemoteMemoryLocator& there = into.at(to);
  if (to.process == fabric.process() &&
      there.address == reinterpret_cast<std::uint64_t>(from.address)) {
    return true;
  }
  const HeldTransmitter transmitter = hold(fabric, to.process);
  fabric.make_room(*transmitter);
  return transmitter->write(from, there.part(0, from.length));
}

void wait_for_writes(Fabric& fabric, ProcessId to) noexcept {
  const HeldTransmitter transmitter = try_hold(fabric, to);
  // When it breaks, the device is done with the memory too; when it is closed, it was before.
  if (transmitter) (void)transmitter->wait(transmitter->tag());
}

void tell_executed(CallContext& call, const Tree& tree, bool failed) noexcept {
  const std::uint32_t rank = call.fabric.rank_of(call.worker->id());
  send_word(call.fabric, tree.origin.process, tree.words.part(rank * sizeof(std::uint64_t), 8),
            failed);
}

}  // namespace detail
}  // namespace dsfabric
