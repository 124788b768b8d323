// SPDX-License-Identifier: MIT
// The locks of a job: memory for their words at each process, made by all workers together.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include "dsfabric/thread.hpp"
#include "locks/lock_id.hpp"

namespace locks {

namespace detail {
class SpaceCore;
class Worker;

/// Where a protocol is, for tests that end a process there.
enum class Point : std::uint8_t {
  /// The atomic that takes a place has been executed, and nobody was told.
  kPlaced = 1,
  /// The one before was told, or there is none.
  kTold,
  /// The lock was granted; an exclusive holder may have to wait for readers still.
  kGranted,
  /// The lock is about to be given up.
  kReleasing,
  /// The word does not name the holder any more, or a follower is known; nobody was granted it.
  kReleased,
  /// The next one was granted the lock, and the place is still in use.
  kPassedOn,
};
}  // namespace detail

/// How the locks of a space work. ncosed.hpp, dqnl.hpp, dslr.hpp and srsl.hpp have the protocols.
enum class Scheme : std::uint8_t {
  /// Distributed queue, shared and exclusive, by one-sided operations; see Ncosed.
  kNcosed,
  /// Distributed queue, exclusive only; see Dqnl.
  kDqnl,
  /// Counters and polling; see Dslr.
  kDslr,
  /// A server at the home, by messages; see Srsl.
  kSrsl,
};

/// What a user may choose about a LockSpace; all workers choose the same.
struct LockSpaceOptions {
  /// Locks at each process.
  std::uint32_t locks = 1024;
  /// How they work: a SharedMutex<M> needs M::kScheme.
  Scheme scheme = Scheme::kNcosed;
  /// Requests of one worker at the same time, held and waiting together; at most 4096. Each takes
  /// 256 bytes of registered memory.
  std::uint32_t places = 64;
  /// How long a lock may stand still while somebody waits for it before its home asks all
  /// processes for their state; a process that does not answer for as long is declared failed, so
  /// that a holder that was stopped loses the lock. 0: such a holder keeps it, and all wait. Only
  /// Dslr has leases. The home measures it by its steady clock.
  std::chrono::nanoseconds lease{0};
  /// The clock of leases, for tests; nullptr: std::chrono::steady_clock.
  std::chrono::nanoseconds (*lease_clock)() = nullptr;
  /// For tests; nullptr: nothing.
  void (*at_point)(detail::Point) = nullptr;
};

/// What a worker has done with the locks of a space so far.
struct LockCounters {
  /// Requests for locks, granted or not.
  std::uint64_t requested = 0;
  /// Those that had to wait for others for longer than a moment.
  std::uint64_t waited = 0;
};

/// A worker's handle on locks that all workers of the job share: LockSpaceOptions::locks of them at
/// each process, named by LockId. All of them are free at first. Several spaces may live at once.
///
/// Made and destroyed by all workers inside Fabric::run, in the same order (a collective, except
/// when a process has failed). Before it is destroyed no lock of it is in use at any worker: call a
/// barrier. A FiberPool whose fibers lock is made after it, so that it ends before. The last worker
/// of a process that destroys it tells the homes of others of the failures that its process knows
/// of, and waits for their answers for Config::leave_timeout at most. A home that is stopped in the
/// middle of a repair, and so may still write into this process, has as long, and is declared
/// failed then. Needs a service thread in each process, since a home repairs its locks by service
/// calls after the death of a process; README.md says how. Owner thread only.
class LockSpace {
 public:
  /// Throws Error when there is no registered memory, no service thread, or another worker chose
  /// other options; PeerFailed as any collective. Setup only.
  explicit LockSpace(dsfabric::Thread& self, const LockSpaceOptions& options = {});
  LockSpace(const LockSpace&) = delete;
  LockSpace& operator=(const LockSpace&) = delete;
  ~LockSpace();

  /// The worker that made it.
  dsfabric::Thread& self() const noexcept;
  /// As given.
  const LockSpaceOptions& options() const noexcept;
  /// Where the words of a lock lie. Throws Error when there is no such lock.
  LockAddress address(LockId lock) const;

  /// Words of locks in other memory of this process, zero at first: their homes repair them as they
  /// do those of the space. `words` lie in registered memory, and stay there until the space is
  /// destroyed. Any other worker locks them by their LockAddress. Throws Error where no words can
  /// lie, and for Srsl, which has none.
  void adopt(std::span<LockWords> words);

  /// The number of repairs that this process, as a home, has made. Any thread, wait-free.
  std::uint64_t repairs() const noexcept;

  /// Of this worker.
  LockCounters counters() const noexcept;

  /// For SharedMutex.
  detail::Worker& worker() noexcept { return *worker_; }

 private:
  std::shared_ptr<detail::SpaceCore> core_;
  std::unique_ptr<detail::Worker> worker_;
};

}  // namespace locks
