// SPDX-License-Identifier: MIT
// What a worker thread is handed: its name, its progress, and the collectives of all workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dsfabric/collective_calls.hpp"
#include "dsfabric/fabric.hpp"
#include "dsfabric/ids.hpp"
#include "dsfabric/peer_failed.hpp"

namespace dsfabric {

class Collectives;
class Connections;
class MessageEngine;
class ThreadContext;
class ThreadRegistry;

/// Work of a layer above that progress() does after its own; true when it did something.
struct ProgressHook {
  /// Does some work and does not wait; true when it did something.
  bool (*step)(void* context) = nullptr;
  /// Its argument.
  void* context = nullptr;
  friend bool operator==(const ProgressHook&, const ProgressHook&) = default;
};

/// A worker. Fabric::run makes it; it lives until the work returns. While it lives,
/// Synchronizer::wait on this thread makes progress. Owner thread only, except id() and fabric().
class Thread : public CollectiveCalls<Thread> {
 public:
  /// For Fabric::run, on the thread of the worker.
  Thread(Fabric& fabric, ThreadContext& context, ThreadRegistry& threads, Connections& connections,
         MessageEngine& messages, Collectives& collectives);
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread();

  /// The name of this worker. Any thread, wait-free.
  ThreadId id() const noexcept { return id_; }
  /// The fabric that runs it. Any thread, wait-free.
  Fabric& fabric() const noexcept { return fabric_; }
  /// The worker `distance` places further in the order of all workers, which closes to a ring.
  ThreadId neighbour(std::int64_t distance) const noexcept;
  /// The zone that this worker lives in.
  dtutils::NumaZone zone() const noexcept { return fabric_.zone_of(id_); }
  /// The allocator of that zone. Any thread, wait-free.
  dtutils::RDMAAllocator& allocator() const noexcept { return fabric_.allocator(zone()); }
  /// This worker's Transmitter to a process, as Fabric::transmitter.
  dtutils::Transmitter& transmitter(ProcessId to) noexcept;

  /// Takes in what arrived, runs the messages for this worker, then the hooks. True when there was
  /// something to do. Inside a message handler it takes in but runs nothing. Throws what handlers
  /// throw.
  bool progress();
  /// Adds work to progress(), unless it was added before. It runs until it is removed or run()
  /// ends, also after the work of this worker has returned. A step may add and remove hooks, also
  /// itself; some hooks may then be skipped until the next progress(). Setup only.
  void add_hook(ProgressHook hook);
  /// Removes a hook that was added; does nothing when there is none. Setup only.
  void remove_hook(ProgressHook hook) noexcept;
  /// Whether a message handler runs on this thread now.
  bool in_handler() const noexcept;

  // --- collectives: those of CollectiveCalls, and ---------------------------------------------
  /// Returns when all workers of the job have called it; what each wrote before, on its own
  /// Transmitters, is visible to all: it waits for that first. A call may not have arrived then:
  /// its caller waits for a ReturnSlot or ExecutionSlots first. As the other collectives; a thread
  /// that runs a message which was sent after a collective, also a service thread, sees what the
  /// workers of its own process did before that collective.
  void barrier();

 private:
  friend CollectiveCalls<Thread>;
  std::uint32_t workers() const noexcept { return fabric_.total_threads(); }
  /// The rank of the root of a broadcast; throws Error when there is no such worker.
  std::uint32_t require_rank(ThreadId root) const;
  void gather_bytes(Collective kind, std::span<const std::byte> mine, std::span<std::byte> all,
                    std::uint32_t root);

  Fabric& fabric_;
  ThreadContext& context_;
  ThreadRegistry& threads_;
  Connections& connections_;
  MessageEngine& messages_;
  Collectives& collectives_;
  ThreadId id_;
};

}  // namespace dsfabric
