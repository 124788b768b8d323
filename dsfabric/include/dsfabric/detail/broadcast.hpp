// SPDX-License-Identifier: MIT
// How a call reaches all workers: along a binomial tree, each passing it on before it runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dsfabric/detail/call_wrappers.hpp"
#include "dsfabric/detail/object_bytes.hpp"
#include "dsfabric/execution_slots.hpp"
#include "dsfabric/group.hpp"
#include "dsfabric/symmetric_buffer.hpp"

namespace dsfabric::detail {

/// A node's part of the tree: itself (`first`) and `count` - 1 workers after it, numbered from the
/// root in the order of ranks, which closes to a ring. It repeatedly gives the upper half of what
/// is left to the first worker of that half, so n workers are reached in log2(n) steps.
struct Tree {
  /// Where each worker reports that it has run the call; length 0: nowhere.
  dtutils::RemoteMemoryLocator words;
  /// The thread that broadcasts, as CallContext::source of every execution.
  ThreadId origin;
  std::uint32_t root;
  std::uint32_t first;
  std::uint32_t count;
  /// Group::key of the group whose ranks are meant; 0: those of the whole job.
  std::uint64_t group = 0;
};

/// The whole tree, from the calling worker, or for another thread from the first worker of its
/// process.
Tree tree_of(Fabric& fabric, const ExecutionSlots* executed);
/// That of a group, from the worker whose Group it is.
Tree tree_of(const Group& group, const ExecutionSlots* executed) noexcept;
/// The first worker of the part. Throws Error when this process knows no group of that key (any
/// more).
ThreadId first_of(Fabric& fabric, const Tree& tree);
/// Writes to the piece of `to`; false when its process is gone.
bool write_to(Fabric& fabric, dtutils::LocalBuffer from, const SymmetricBuffer& into, ThreadId to);
/// Waits until what the calling thread wrote to the process has left its memory.
void wait_for_writes(Fabric& fabric, ProcessId to) noexcept;
void tell_executed(CallContext& call, const Tree& tree, bool failed) noexcept;

/// Calls `send(part)` for each part that this node forwards. A process that is gone is skipped.
template <class Send>
void forward_parts(Tree tree, Send&& send) {
  while (tree.count > 1) {
    Tree part = tree;
    const std::uint32_t kept = (tree.count + 1) / 2;
    part.first = tree.first + kept;
    part.count = tree.count - kept;
    while (part.count != 0 && !send(part)) {
      ++part.first;
      --part.count;
    }
    tree.count = kept;
  }
}

/// Sends a part of the tree, with the buffer of the call, on the way that the call came.
template <class Part>
bool forward(const CallContext& call, const Part& part, std::span<const std::byte> buffer = {}) {
  const ThreadId to = first_of(call.fabric, part.tree);
  const std::uint32_t function = function_index<Part>();
  const ObjectBytes<Part> bytes(part);
  if (call.forwarder == nullptr) {
    return send_record(call.fabric, to, function, bytes.data(), sizeof part, buffer);
  }
  return call.forwarder->forward(call, to, function, bytes.span(), buffer);
}

template <class Work>
void run_and_tell(CallContext& call, const Tree& tree, Work&& work) {
  CallContext original{call.fabric, tree.origin, call.worker};
  if (tree.words.length == 0) return work(original);
  bool failed = false;
  try {
    work(original);
  } catch (...) {
    failed = true;
  }
  tell_executed(call, tree, failed);
}

/// broadcast, and broadcast_buffer with the buffer in the call.
template <class F>
struct Broadcast : WrapperName<F, 'b'> {
  Broadcast(const F& f, const Tree& whole) noexcept : function(f), tree(whole) {}
  F function;
  Tree tree;

  void operator()(CallContext& call, std::byte* buffer, std::uint32_t bytes) {
    forward_parts(tree, [&](const Tree& part) {
      return detail::forward(call, Broadcast(function, part), {buffer, bytes});
    });
    run_and_tell(call, tree, [&](CallContext& context) {
      if constexpr (std::is_invocable_v<F&, CallContext&, std::byte*, std::uint32_t>) {
        function(context, buffer, bytes);
      } else {
        run_callable(function, context);
      }
    });
  }
};

/// broadcast_buffer by RDMA write; `there` is the receiving worker's SymmetricBuffer.
template <class F>
struct BroadcastWritten : WrapperName<F, 'd'> {
  BroadcastWritten(const F& f, const Tree& whole, std::uint64_t object,
                   std::uint32_t length) noexcept
      : function(f), bytes(length), there(object), tree(whole) {}
  F function;
  std::uint32_t bytes;
  std::uint64_t there;
  Tree tree;

  void operator()(CallContext& call) {
    const auto& buffer = *reinterpret_cast<const SymmetricBuffer*>(there);
    const dtutils::LocalBuffer mine = buffer.memory().local(0, bytes);
    forward_parts(tree, [&](const Tree& part) {
      const ThreadId to = first_of(call.fabric, part);
      const BroadcastWritten next(function, part, buffer.there(to), bytes);
      const bool sent = write_to(call.fabric, mine, buffer, to) && detail::forward(call, next);
      // The callable may change the bytes.
      if (sent) wait_for_writes(call.fabric, to.process);
      return sent;
    });
    run_and_tell(call, tree,
                 [&](CallContext& context) { function(context, buffer.data(), bytes); });
  }
};

/// broadcast_buffer by RDMA read from the origin.
template <class F>
struct BroadcastRead : WrapperName<F, 'e'> {
  BroadcastRead(const F& f, const Tree& whole, const dtutils::RemoteMemoryLocator& buffer) noexcept
      : function(f), tree(whole), from(buffer) {}
  F function;
  Tree tree;
  dtutils::RemoteMemoryLocator from;

  void operator()(CallContext& call) {
    forward_parts(tree, [&](const Tree& part) {
      return detail::forward(call, BroadcastRead(function, part, from));
    });
    run_and_tell(call, tree, [&](CallContext& context) {
      const dtutils::RDMAMemory memory = read_buffer(call.fabric, from);
      function(context, memory.data(), static_cast<std::uint32_t>(from.length));
    });
  }
};

}  // namespace dsfabric::detail
