// SPDX-License-Identifier: MIT
// Broadcasts of calls (Seriema, Table 1), written once over any channel: to all workers, or a
// group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dsfabric/call_status.hpp"
#include "dsfabric/callable.hpp"
#include "dsfabric/detail/broadcast.hpp"
#include "dsfabric/execution_slots.hpp"
#include "dsfabric/group.hpp"
#include "dsfabric/symmetric_buffer.hpp"
#include "dtutils/rdma_memory.hpp"

namespace dsfabric {

/// Part of Calls, whose words about refusals and exceptions hold here too. Owner thread of the
/// channel only.
template <class Channel>
class BroadcastCalls {
 public:
  /// All workers of the job, this one too, run `function()` or `function(CallContext&)`. The calls
  /// travel along a binomial tree of workers, which forward them over channels of the same kind: as
  /// messages, or through rings of their own. A process that is gone is left out. With `executed`,
  /// each worker reports when it has run the call. The broadcasts of one thread over one channel
  /// run in their order everywhere, while no process fails (rings: and while no step goes by
  /// message).
  template <class F>
  CallStatus broadcast(const F& function, ExecutionSlots* executed = nullptr) {
    return broadcast_buffer(function, std::span<const std::byte>(), executed);
  }

  /// The same for `function(CallContext&, std::byte* buffer, std::uint32_t bytes)`, with the buffer
  /// in the call.
  template <class F>
  CallStatus broadcast_buffer(const F& function, std::span<const std::byte> buffer,
                              ExecutionSlots* executed = nullptr) {
    return broadcast_in_call(nullptr, function, buffer, executed);
  }

  /// The same; `from` is written into the `into` of each worker, by its parent in the tree, before
  /// the callable runs there. `from` may be the piece of this worker. It must stay as it is until
  /// all have reported to `executed`.
  template <class F>
  CallStatus broadcast_buffer(const F& function, const dtutils::RDMAMemory& from,
                              SymmetricBuffer& into, std::uint32_t bytes,
                              ExecutionSlots& executed) {
    return broadcast_written(nullptr, function, from, into, bytes, executed);
  }

  /// The same; each worker reads `buffer` from this process into memory of its own. It must stay as
  /// it is until all have reported to `executed`.
  template <class F>
  CallStatus broadcast_buffer(const F& function, const dtutils::RDMAMemory& buffer,
                              ExecutionSlots& executed) {
    return broadcast_read(nullptr, function, buffer, executed);
  }

  /// The same four to the members of a group, by the worker whose Group it is. They go along a tree
  /// of members, and through their processes only. No member destroys its Group before it knows
  /// that the broadcast has been executed everywhere.
  template <class F>
  CallStatus broadcast(const Group& group, const F& function, ExecutionSlots* executed = nullptr) {
    return broadcast_buffer(group, function, std::span<const std::byte>(), executed);
  }
  /// With the buffer in the call.
  template <class F>
  CallStatus broadcast_buffer(const Group& group, const F& function,
                              std::span<const std::byte> buffer,
                              ExecutionSlots* executed = nullptr) {
    return broadcast_in_call(&group, function, buffer, executed);
  }
  /// Written into the `into` of each member.
  template <class F>
  CallStatus broadcast_buffer(const Group& group, const F& function,
                              const dtutils::RDMAMemory& from, SymmetricBuffer& into,
                              std::uint32_t bytes, ExecutionSlots& executed) {
    return broadcast_written(&group, function, from, into, bytes, executed);
  }
  /// Read by each member from this process.
  template <class F>
  CallStatus broadcast_buffer(const Group& group, const F& function,
                              const dtutils::RDMAMemory& buffer, ExecutionSlots& executed) {
    return broadcast_read(&group, function, buffer, executed);
  }

 private:
  Channel& channel() noexcept { return static_cast<Channel&>(*this); }

  /// `group`: nullptr for the whole job.
  detail::Tree tree_of(const Group* group, const ExecutionSlots* executed) {
    return group != nullptr ? detail::tree_of(*group, executed)
                            : detail::tree_of(channel().fabric(), executed);
  }
  template <class F>
  CallStatus broadcast_in_call(const Group* group, const F& function,
                               std::span<const std::byte> buffer, ExecutionSlots* executed) {
    detail::check_callable<F>();
    return start(group, executed, detail::Broadcast<F>(function, tree_of(group, executed)), buffer);
  }
  template <class F>
  CallStatus broadcast_written(const Group* group, const F& function,
                               const dtutils::RDMAMemory& from, SymmetricBuffer& into,
                               std::uint32_t bytes, ExecutionSlots& executed) {
    detail::check_callable<F>();
    Fabric& fabric = channel().fabric();
    const detail::Tree tree = tree_of(group, &executed);
    const ThreadId root = detail::first_of(fabric, tree);
    if (!detail::write_to(fabric, from.local(0, bytes), into, root)) {
      return refused(group, executed);
    }
    return start(group, &executed,
                 detail::BroadcastWritten<F>(function, tree, into.there(root), bytes), {});
  }
  template <class F>
  CallStatus broadcast_read(const Group* group, const F& function,
                            const dtutils::RDMAMemory& buffer, ExecutionSlots& executed) {
    detail::check_callable<F>();
    dtutils::RemoteMemoryLocator from = buffer.remote();
    from.process = channel().fabric().process().value;
    return start(group, &executed,
                 detail::BroadcastRead<F>(function, tree_of(group, &executed), from), {});
  }
  template <class F>
  CallStatus start(const Group* group, ExecutionSlots* executed, const F& wrapped,
                   std::span<const std::byte> extra) {
    const ThreadId root = detail::first_of(channel().fabric(), wrapped.tree);
    if (executed != nullptr) executed->expect(group);
    const CallStatus status = channel().call_buffer(root, wrapped, extra);
    if (status != CallStatus::kAccepted && executed != nullptr) executed->refuse();
    return status;
  }
  static CallStatus refused(const Group* group, ExecutionSlots& executed) {
    executed.expect(group);
    executed.refuse();
    return CallStatus::kPeerGone;
  }
};

}  // namespace dsfabric
