// SPDX-License-Identifier: MIT
// A collective among the processes: rounds of one-sided writes, by one worker for its process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/collective_wait.hpp"
#include "collectives/collective_word.hpp"
#include "collectives/participants.hpp"
#include "collectives/round_block.hpp"
#include "dsfabric/detail/sparse_array.hpp"
#include "dtutils/retire_tags.hpp"
#include "failure/failures.hpp"
#include "mesh/connections.hpp"
#include "messages/message_engine.hpp"

namespace dsfabric {

/// With K = kCollectiveRadix, or kOneRound where that reaches all, each takes ceil(log_K P) rounds,
/// with K - 1 partners in each, and has no central process. Where processes share cores, each round
/// costs a turn of all of them, so a larger K is faster than the usual 2, and a device has many
/// writes under way at once; but each partner costs a connection.
///
///  - Barrier: dissemination. In round r process i raises a flag of each process i + j K^r, for j
///    below K, and waits for as many of its own. Barriers may be acted by different workers, whose
///    writes come by different queue pairs: so they use two places alternately, or a late word
///    would cover the next one (tests/dsfabric/model/barrier.pml).
///  - Gathering (J. Bruck et al., "Efficient algorithms for all-to-all communications", IEEE TPDS
///    8, 1997): in round r process i writes the slots that it has, those of the K^r processes from
///    itself on, to each process i - j K^r, then a flag. Two places are used alternately: whoever
///    writes the first round of gathering n + 2 has finished n + 1, which needed a word of all, who
///    had read what n brought by then (tests/dsfabric/model/gathering.pml).
///
/// A word that comes says which collective its process is in; one that does not fit ends the
/// collective with an Error that names both. Where some are in a barrier and some in a gathering,
/// there is a process in one of them whose neighbour is in the other, and it looks at the words
/// that come from there. All throw as CollectiveWait::until. One worker at a time, which acts for
/// all of its process.
class Rounds {
 public:
  Rounds(const Participants& participants, Connections& connections, RoundBlock& block,
         Failures& failures, MessageEngine& messages, CollectiveWait& wait)
      : participants_(participants),
        connections_(connections),
        block_(block),
        failures_(failures),
        messages_(messages),
        wait_(wait),
        processes_(participants.processes()),
        settled_(std::make_unique<std::optional<SettledPeers>[]>(participants.here())) {
    for (std::uint32_t i = 0; i < participants.here(); ++i) settled_[i].emplace(processes_);
  }
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  /// The processes, by index, that process `self` of so many writes to, and that write to it.
  static std::vector<std::uint32_t> partners(std::uint32_t self, std::uint32_t processes);

  void barrier(ThreadContext& context, const CollectiveCall& call);
  /// Brings the first slots of all: afterwards slot i is that of the process i places after this
  /// one.
  void gathering(ThreadContext& context, const CollectiveCall& call);
  /// Which of the two places the next gathering uses. Workers, before they come to it.
  unsigned gather_parity() const noexcept { return (gathers_ + 1) % 2; }

  /// Waits until all that the worker of this thread context has posted to processes of the group is
  /// done. Each worker for itself; `slot` is its own.
  void wait_for_posts(ThreadContext& context, std::uint32_t slot);

 private:
  using Kind = RoundLayout::Kind;

  /// The process `distance` places further, and as many before.
  std::uint32_t after(std::uint32_t distance) const noexcept {
    return (participants_.self() + distance) % processes_;
  }
  std::uint32_t before(std::uint32_t distance) const noexcept {
    return after(processes_ - distance);
  }
  static constexpr std::uint32_t radix_of(std::uint32_t processes) noexcept {
    return processes <= kOneRound ? kOneRound : kCollectiveRadix;
  }
  /// Calls `visit(partner, distance)` for each partner of the round in which one stride is
  /// `stride`.
  template <class Visit>
  static void for_each_partner(std::uint32_t stride, std::uint32_t processes, Visit visit) {
    const std::uint32_t radix = radix_of(processes);
    for (unsigned j = 1; j < radix && j * stride < processes; ++j) visit(j, j * stride);
  }
  /// The words of one round come from the processes `where(distance)`.
  template <class Where>
  void await_words(ThreadContext& context, Kind kind, unsigned round, std::uint32_t stride,
                   const CollectiveCall& call, Where where);
  std::uint64_t count_of(Kind kind) const noexcept {
    return kind == Kind::kBarrier ? barriers_ : gathers_;
  }
  /// Begins to connect with all partners, before the first collective.
  void expect_partners();
  /// The word that process `peer` raised at `flag` must be of the same collective.
  void require_same(std::uint32_t peer, std::size_t flag, const CollectiveCall& mine) const;
  /// Whether the neighbour is in a barrier (gathering) that comes before the gathering (barrier) in
  /// which this process waits.
  void look_for_other(Kind other, const CollectiveCall& mine) const;
  void write(ThreadContext& context, std::uint32_t to, std::size_t offset, std::size_t source,
             std::size_t length);
  void write_word(ThreadContext& context, std::uint32_t to, Kind kind, unsigned round,
                  unsigned partner);
  /// The connection to the process broke: throws what that means, as soon as it is known.
  void end_by(ThreadContext& context, ProcessId process);

  /// Of one worker's Transmitter to one process: no post before this tag matters to a barrier any
  /// more; and whether a barrier waits for it now.
  struct Settled {
    dtutils::RetireTag tag;
    bool awaited = false;

    /// Of one Transmitter, and one post: a closed connection leaves its Transmitter to another one.
    bool is(const dtutils::RetireTag& other) const noexcept {
      return tag.retired == other.retired && tag.ticket == other.ticket;
    }
    /// The one post after `before` is nothing that wait_for_posts() has to wait for.
    void pass_over(const dtutils::Transmitter& out, const dtutils::RetireTag& before) noexcept {
      const dtutils::RetireTag now = out.tag();
      // Else others share the Transmitter, and have posted too.
      const bool one = now.retired == before.retired && now.ticket == before.ticket + 1;
      if (one && is(before)) tag = now;
    }
  };
  using SettledPeers = detail::SparseArray<Settled>;
  /// The rest of wait_for_posts(), from the process with this index on.
  void settle(ThreadContext& context, SettledPeers& peers, std::uint32_t first);

  const Participants& participants_;
  Connections& connections_;
  RoundBlock& block_;
  Failures& failures_;
  MessageEngine& messages_;
  CollectiveWait& wait_;
  const std::uint32_t processes_;
  /// By slot of the worker, which alone touches its own, and by index of the process.
  std::unique_ptr<std::optional<SettledPeers>[]> settled_;
  bool expected_ = false;
  std::uint64_t barriers_ = 0;
  std::uint64_t gathers_ = 0;
};

}  // namespace dsfabric
