// SPDX-License-Identifier: MIT
// Threads that execute calls instead of the workers that the calls are for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dsfabric/thread.hpp"
#include "riutils/fiber_pool.hpp"

namespace riutils {

class Delegation;

/// What a user may choose about HelperThreads.
struct HelperOptions {
  /// Number of helpers.
  std::uint32_t threads = 1;
  /// Each helper has a FiberPool of its own, so that in_fiber() calls work there too.
  FiberOptions fibers = {};
};

/// Seriema's delegated handling: helper threads of a process poll the receivers of its workers, so
/// that calls are executed while the workers compute. A Delegation says whose. An idle helper
/// spins, then yields, then sleeps for some tens of microseconds between two looks. Each takes one
/// of Config::outside_threads.
///
/// The destructor waits for handlers that run and for fibers (FiberOptions::drain_timeout). All
/// Delegations are gone by then. Setup only.
class HelperThreads {
 public:
  /// Throws Error when there are no threads, or as FiberPool. Any thread.
  explicit HelperThreads(dsfabric::Fabric& fabric, const HelperOptions& options = {});
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;
  ~HelperThreads();

 private:
  friend class Delegation;
  class Helper;
  std::vector<std::unique_ptr<Helper>> helpers_;
};

/// While it lives, one helper executes the calls that come to this worker through rings, in their
/// order, and no other thread does. Messages (SendChannel) still run inside progress() of the
/// worker.
///
/// CallContext::worker is the worker that the call was for; a handler uses its id(), fabric() and
/// zone() only, and calls out through a SendChannel of its own: channels over rings belong to the
/// worker. Handlers run at the same time as the worker's program, so what both touch needs a lock
/// (FiberMutex) or atomics. An exception that no upcall takes leaves progress() of the worker.
///
/// Its end waits until the helper has let go, serving meanwhile; calls whose fibers still wait stay
/// with the helper, so let it end after wait_for_termination(). Owner thread of the worker only.
class Delegation {
 public:
  /// Hands the calls of the calling worker, which has no other Delegation, to the helper with the
  /// fewest workers.
  Delegation(HelperThreads& helpers, dsfabric::Thread& self);
  Delegation(const Delegation&) = delete;
  Delegation& operator=(const Delegation&) = delete;
  ~Delegation();

 private:
  friend class HelperThreads::Helper;
  struct Work;

  dsfabric::Thread& self_;
  HelperThreads::Helper& helper_;
  std::unique_ptr<Work> work_;
};

}  // namespace riutils
