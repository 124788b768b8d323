// SPDX-License-Identifier: MIT
// The collectives of a group: its workers meet in their process, and one acts for it among others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "collectives/collective_wait.hpp"
#include "collectives/collective_word.hpp"
#include "collectives/participants.hpp"
#include "collectives/round_block.hpp"
#include "collectives/rounds.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dtutils/limits.hpp"
#include "threads/arrivals.hpp"

namespace dsfabric {

/// Workers of a process count themselves in; the last one acts for all of them among the processes
/// (Rounds), by one-sided writes into their blocks, and lets the others go on. Before a
/// barrier each worker waits until its own posts are done, since no flag follows them on the same
/// way to everybody.
///
/// All throw PeerFailed when a process has failed, or left without taking part, or when a worker of
/// this process threw; Error when workers are in different collectives. Workers only.
///
/// Which failures count. Collectives rest on failed(), the belief of this process, and agree on
/// nothing: who believes that a peer has failed, rightly or not, takes part in no collective any
/// more.
///
///  - Two processes may end one collective differently: where one returned, another may throw,
///    which learned of a failure before the last word came. Nothing that was returned is taken
///    back; it was complete. Who must know that all have it, asks in a further collective.
///  - A process that does not share the belief returns from a collective only with the words of
///    all, those of the one who believes included, and these come no more. So whoever throws
///    PeerFailed for the first time revokes the collectives at its partners (on_revoke), who throw
///    the same, and revoke them at theirs. Whoever waits, waits for a partner, so all end
///    (tests/dsfabric/model/revocation.pml). Which process ends them is a belief still. The idea
///    is MPI_Comm_revoke of W. Bland et al., "Post-failure recovery of MPI communication
///    capability", IJHPCA 27, 2013.
///  - One that is given up wrongly, and wakes up, is told so by whoever gave it up, and takes that
///    one for failed: its collectives throw too. What it had posted before does not arrive any more
///    where its queue pairs have been broken; a word of it that was there before counts, for it was
///    sent by a process that had come to that collective.
class Collectives {
 public:
  /// `memory` is for the layout of these participants (RoundBlock). Setup only.
  Collectives(const Participants& participants, dtutils::RDMAMemory memory,
              Connections& connections, Failures& failures, const OwnFailure& own_failure,
              MessageEngine& messages, Arrivals& arrivals);
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  void barrier(ThreadContext& context, Collective kind);
  /// `all` has room for the bytes of every participant by rank, `mine.size()` each. `root` is the
  /// rank of the worker whose bytes count, where there is one.
  void gather(ThreadContext& context, Collective kind, std::span<const std::byte> mine,
              std::span<std::byte> all, std::uint32_t root = 0);
  /// `tell` is called once, by the worker that is the first to throw PeerFailed, and tells the
  /// partners; they know by revoke() of CollectiveWait. Setup only.
  void on_revoke(std::function<void(const Revocation&)> tell) { tell_ = std::move(tell); }
  /// Runs a part of a collective; the same happens when that throws PeerFailed.
  template <class Part>
  void revoking(Part part) {
    try {
      part();
    } catch (const PeerFailed& failure) {
      revoke(failure.process());
      throw;
    }
  }
  /// The barrier around the work of run(): false instead of PeerFailed.
  bool quiet_barrier(ThreadContext& context, Collective kind);

  const Participants& participants() const noexcept { return participants_; }
  RoundBlock& block() noexcept { return block_; }
  CollectiveWait& wait() noexcept { return wait_; }

 private:
  void revoke(ProcessId failed);
  template <class Act>
  void together(ThreadContext& context, const CollectiveCall& call, Act act);
  /// Throws Error when the workers of this process have come to different collectives.
  void require_one_collective() const;

  /// What a worker has come to last. It writes it before it arrives, and the last one to come reads
  /// those of all.
  struct alignas(dtutils::kCacheLine) Came {
    CollectiveCall to;
  };

  const Participants& participants_;
  Arrivals& arrivals_;
  const std::uint32_t workers_;
  /// By slot.
  std::vector<Came> came_;
  CollectiveWait wait_;
  std::function<void(const Revocation&)> tell_;
  std::atomic<bool> told_{false};
  RoundBlock block_;
  /// Touched by the one that acts for all.
  Rounds rounds_;

  alignas(dtutils::kCacheLine) std::atomic<std::uint64_t> finished_{0};
};

}  // namespace dsfabric
