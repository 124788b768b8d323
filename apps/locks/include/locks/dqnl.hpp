// SPDX-License-Identifier: MIT
// DQNL: the distributed queue without shared requests.
#pragma once

#include "locks/ncosed.hpp"

namespace locks {

/// Distributed Queue-based Non-shared Locking (Devulapalli, Wyckoff, Cluster 2005): the queue of
/// Ncosed, in which a shared request is an exclusive one. The paper tells and grants by messages;
/// here both are writes into the other's memory, as in Ncosed, so that the two differ in nothing
/// else. Owner thread only.
struct Dqnl {
  static constexpr Scheme kScheme = Scheme::kDqnl;
  /// lock() itself refuses to wait where an inline handler must not.
  static constexpr bool kAsksBeforeItWaits = true;
  static void lock(detail::Worker& worker, detail::Place& place, const LockAddress& lock) {
    place.mode = detail::Mode::kExclusive;
    Ncosed::lock(worker, place, lock);
  }
  static bool try_lock(detail::Worker& worker, detail::Place& place, const LockAddress& lock) {
    place.mode = detail::Mode::kExclusive;
    return Ncosed::try_lock(worker, place, lock);
  }
  static void unlock(detail::Worker& worker, detail::Place& place,
                     const LockAddress& lock) noexcept {
    Ncosed::unlock(worker, place, lock);
  }
};

}  // namespace locks
