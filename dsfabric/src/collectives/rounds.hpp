// SPDX-License-Identifier: MIT
// A collective among the processes: rounds of one-sided writes, by one worker for its process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/collective_wait.hpp"
#include "collectives/collective_word.hpp"
#include "dsfabric/ids.hpp"
#include "dtutils/retire_tags.hpp"
#include "failure/failures.hpp"
#include "job/members.hpp"
#include "mesh/connections.hpp"
#include "mesh/control_blocks.hpp"
#include "messages/message_engine.hpp"

namespace dsfabric {

///  - Barrier: dissemination. In round r process p raises flag r of process p + 2^r and waits for
///    its own: ceil(log2 P) rounds, no central process. Barriers may be acted by different workers,
///    whose writes come by different queue pairs: so they use two places alternately, or a late
///    word would cover the next one (tests/dsfabric/model/barrier.pml).
///  - Gathering: everyone writes its workers' bytes, then a flag, into its place in every other
///    block. Two places are used alternately: whoever writes round n + 2 has seen the flags of
///    round n + 1 of all, who had read round n by then.
///
/// A word that comes says which collective its process is in; one that does not fit ends the
/// collective with an Error that names both. All throw as CollectiveWait::until. One worker at a
/// time, which acts for all of its process.
class Rounds {
 public:
  Rounds(const Members& members, Connections& connections, ControlBlocks& control,
         Failures& failures, MessageEngine& messages, CollectiveWait& wait)
      : members_(members),
        connections_(connections),
        control_(control),
        failures_(failures),
        messages_(messages),
        wait_(wait),
        processes_(members.count()),
        settled_(members.threads(), std::vector<Settled>(members.count())) {}
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  void barrier(ThreadContext& context, const CollectiveCall& call);
  /// Exchanges what the workers of each process have put into its place of the control block.
  void gathering(ThreadContext& context, const CollectiveCall& call);
  /// Which of the two places the next gathering uses. Workers, before they come to it.
  unsigned gather_parity() const noexcept { return gathers_ % 2; }

  /// Waits until all that the worker of this thread context has posted is done. Each worker for
  /// itself.
  void wait_for_posts(ThreadContext& context);

 private:
  /// The word that is raised at `flag` must be of the same collective.
  void require_same(ProcessId peer, const std::uint64_t& flag, const CollectiveCall& mine) const;
  /// Whether the peer is in a barrier (gathering) that comes before the gathering (barrier) in
  /// which this process waits.
  void look_for_barrier(ProcessId peer, const CollectiveCall& mine) const;
  void look_for_gathering(ProcessId peer, const CollectiveCall& mine) const;
  void write(ThreadContext& context, ProcessId to, std::size_t offset, std::size_t length);
  /// The one post after `before` is nothing that wait_for_posts() has to wait for.
  void pass_over(ThreadContext& context, ProcessId to, std::uint64_t before) noexcept;

  /// Of one worker's Transmitter to one process: no post before this tag matters to a barrier any
  /// more; and whether a barrier waits for it now.
  struct Settled {
    dtutils::RetireTag tag;
    bool awaited = false;
  };

  const Members& members_;
  Connections& connections_;
  ControlBlocks& control_;
  Failures& failures_;
  MessageEngine& messages_;
  CollectiveWait& wait_;
  const std::uint32_t processes_;
  /// By worker, which alone touches its own, and by process.
  std::vector<std::vector<Settled>> settled_;
  std::uint64_t barriers_ = 0;
  std::uint64_t gathers_ = 0;
};

}  // namespace dsfabric
