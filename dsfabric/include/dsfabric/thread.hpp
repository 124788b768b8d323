// SPDX-License-Identifier: MIT
// What a worker thread is handed: its name, its progress, and the collectives of all workers.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsfabric/fabric.hpp"
#include "dsfabric/ids.hpp"
#include "dsfabric/peer_failed.hpp"

namespace dsfabric {

class Collectives;
class Connections;
class MessageEngine;
class ThreadContext;
class ThreadRegistry;

/// The kinds of collectives. The kind travels along, so that workers that are in different
/// collectives find out.
enum class Collective : std::uint8_t {
  kBarrier = 1,
  kAllGather,
  kAllReduce,
  kBroadcast,
  kTermination,
  kRunBegins,
  kRunEnds,
};

/// A value that may travel through a collective.
template <class T>
concept CollectiveValue = std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>;

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
class Thread {
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
  /// This worker's Transmitter to a process.
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

  // --- collectives --------------------------------------------------------------------------
  // Every worker of the job calls the same ones in the same order. They serve incoming messages
  // while they wait, and throw PeerFailed as soon as a process has failed or left. Workers that are
  // in different collectives, or give values of different sizes or different roots, get an Error
  // that names both (or, in another process than the one that finds out, PeerFailed with that
  // reason). A handler, a fiber too, gets an Error. A thread that runs a message which was sent
  // after a collective, also a service thread, sees what the workers of its own process did before
  // that collective.

  /// Returns when all workers have called it; what each wrote before, on its own Transmitters, is
  /// visible to all: it waits for that first. A call may not have arrived then: its caller waits
  /// for a ReturnSlot or ExecutionSlots first.
  void barrier();

  /// Everyone's value, in the order of threads. Other workers that have the values may call this
  /// one before it returns: where their handlers need the result, call a barrier afterwards.
  template <CollectiveValue T>
  std::vector<T> all_gather(const T& mine) {
    return gather_values(Collective::kAllGather, mine);
  }

  /// `combine` over all values, from left to right in the order of threads. All workers get the
  /// same result, also for an operation that rounds.
  template <CollectiveValue T, class Combine = std::plus<T>>
  requires std::is_invocable_r_v<T, Combine&, const T&, const T&> T
  all_reduce(const T& mine, Combine combine = {}) {
    const std::vector<T> all = gather_values(Collective::kAllReduce, mine);
    T result = all.front();
    for (std::size_t i = 1; i < all.size(); ++i) {
      result = combine(std::as_const(result), all[i]);
    }
    return result;
  }

  /// The value that `root` gives; what the others give is ignored. All name the same root.
  template <CollectiveValue T>
  T broadcast(const T& mine, ThreadId root) {
    T value = mine;
    broadcast_bytes(std::as_writable_bytes(std::span(&value, 1)), root);
    return value;
  }

 private:
  template <CollectiveValue T>
  std::vector<T> gather_values(Collective kind, const T& mine) {
    std::vector<T> all(fabric_.total_threads());
    gather_bytes(kind, std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    return all;
  }
  void gather_bytes(Collective kind, std::span<const std::byte> mine, std::span<std::byte> all);
  void broadcast_bytes(std::span<std::byte> value, ThreadId root);

  Fabric& fabric_;
  ThreadContext& context_;
  ThreadRegistry& threads_;
  Connections& connections_;
  MessageEngine& messages_;
  Collectives& collectives_;
  ThreadId id_;
};

}  // namespace dsfabric
