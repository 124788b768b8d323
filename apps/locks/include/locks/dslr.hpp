// SPDX-License-Identifier: MIT
// DSLR: four counters in one word; waiters read them until it is their turn.
#pragma once

#include "locks/detail/worker.hpp"

namespace locks {

/// Decentralized and Starvation-free Lock management with RDMA (Yoon, Chowdhury, Mozafari, SIGMOD
/// 2018). The word of a lock is
///
///     bits 63..48 served exclusive | 47..32 served shared | 31..16 next exclusive | 15..0 next
///     shared
///
/// One fetch-and-add takes a place: the value before says who comes first. Exclusive: its turn is
/// when both served counters have come to the next counters that it found; shared: when served
/// exclusive has. Until then it reads the word, with pauses that grow with the number of those
/// before it. One fetch-and-add releases.
///
/// A counter that has come to kCountMax takes no further places: who finds that takes its addition
/// back and waits; when all are served, one of those sets the word to zero by a compare-and-swap.
/// Bit 31 says that an exclusive holder died, until the next one has come. Leases:
/// LockSpaceOptions::lease. Fairness, and what must be complete before unlocking, as Ncosed.
///
/// Static functions as those of Ncosed. Owner thread only.
struct Dslr {
  static constexpr Scheme kScheme = Scheme::kDslr;
  /// A request is made by one atomic or message, and cannot be taken back.
  static constexpr bool kAsksBeforeItWaits = false;
  /// Places between two resets of the counters.
  static constexpr std::uint32_t kCountMax = 1u << 14;
  static void lock(detail::Worker& worker, detail::Place& place, const LockAddress& lock);
  static bool try_lock(detail::Worker& worker, detail::Place& place, const LockAddress& lock);
  static void unlock(detail::Worker& worker, detail::Place& place,
                     const LockAddress& lock) noexcept;
};

}  // namespace locks
