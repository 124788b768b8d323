// SPDX-License-Identifier: MIT
// N-CoSED and DQNL: a queue of requests, each in the memory of its worker.
#pragma once

#include "locks/detail/worker.hpp"

namespace locks {

/// Network-based Combined Shared and Exclusive Distributed locking (Narravula, Mamidala, Vishnu,
/// Vaidyanathan, Panda, CCGrid 2007; paper 003, section 4.2). The word of a lock is
///
///     bits 63..32 tail of the exclusive queue, 0: none | bits 31..0 shared requests since then
///
/// Exclusive: a compare-and-swap makes its own place the tail. When there was a tail, its place is
/// told who follows it, by one write, and the holder before grants the lock by one write. When
/// there was none, and readers hold the lock, the new tail waits until as many have been counted in
/// LockWords::released. Shared: a fetch-and-add counts one more; granted at once when there is no
/// exclusive request, else that request is told. An exclusive holder that releases grants all
/// readers that wait for it at once, and then the exclusive one behind them. A reader releases by
/// taking its count back, or when an exclusive request has come meanwhile, by one fetch-and-add to
/// LockWords::released. No processor of others takes part, except after a death.
///
/// So exclusive requests are served in the order of their compare-and-swaps, and a shared request
/// waits for the exclusive requests that were there before it, and for none that came later.
///
/// What the holder has written, to the home too, must be complete before it unlocks
/// (Transmitter::flush): a grant to one that waits takes another way. For what was written to the
/// home alone there is unlock_behind().
///
/// Static functions over a place, so that no object and no virtual call stands between SharedMutex
/// and the atomics. Each takes a place in phase kEntering, whose mode says how the lock is wanted;
/// when it throws, or try_lock answers false, the place is free. Owner thread only.
struct Ncosed {
  static constexpr Scheme kScheme = Scheme::kNcosed;
  /// lock() itself refuses to wait where an inline handler must not.
  static constexpr bool kAsksBeforeItWaits = true;
  static void lock(detail::Worker& worker, detail::Place& place, const LockAddress& lock);
  static bool try_lock(detail::Worker& worker, detail::Place& place, const LockAddress& lock);
  static void unlock(detail::Worker& worker, detail::Place& place,
                     const LockAddress& lock) noexcept;
  /// See SharedMutex::unlock_behind.
  static bool unlock_behind(detail::Worker& worker, detail::Place& place,
                            const LockAddress& lock) noexcept;
};

}  // namespace locks
