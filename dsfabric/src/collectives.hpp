// SPDX-License-Identifier: MIT
// The collectives of all workers: first among those of a process, then among the processes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "collective_word.hpp"
#include "dsfabric/ids.hpp"
#include "dtutils/limits.hpp"

namespace dsfabric {

class Core;
class ThreadContext;

/// Workers of a process count themselves in; the last one acts for all of them among the processes,
/// by one-sided writes into the control blocks, and lets the others go on.
///
///  - Barrier: each worker waits until its own posts are done, since no flag follows them on the
///    same way to everybody. Then dissemination: in round r process p raises flag r of process
///    p + 2^r and waits for its own: ceil(log2 P) rounds, no central process. Barriers may be acted
///    by different workers, whose writes come by different queue pairs: so they use two places
///    alternately, or a late word would cover the next one (tests/dsfabric/model/barrier.pml).
///  - Gathering: everyone writes its workers' bytes, then a flag, into its place in every other
///    block. Two places are used alternately: whoever writes round n + 2 has seen the flags of
///    round n + 1 of all, who had read round n by then.
///
/// All throw PeerFailed when a process has failed, or left without taking part, or when a worker of
/// this process threw. Workers only.
class Collectives {
 public:
  explicit Collectives(Core& core);
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  void barrier(ThreadContext& context, Collective kind);
  /// `all` has room for the bytes of every worker of the job, `mine.size()` each.
  void gather(ThreadContext& context, Collective kind, std::span<const std::byte> mine,
              std::span<std::byte> all);
  /// The barrier around the work of run(): false instead of PeerFailed.
  bool quiet_barrier(ThreadContext& context, Collective kind);

  /// From here on the calling thread sees what the workers of this process did before they came to
  /// their last collective. For handlers: a peer that has left a barrier may call us while our own
  /// workers are still in it, and tell what they did before it. Any thread, wait-free.
  void see_arrivals() const noexcept { (void)arrived_.load(std::memory_order_acquire); }

  /// A worker (or service handler) of this process threw: its other workers leave their
  /// collectives. Any thread.
  void abort(std::string_view reason) noexcept;
  bool aborted() const noexcept { return aborted_.load(std::memory_order_acquire); }
  std::string abort_reason() const;

 private:
  template <class Act>
  void together(ThreadContext& context, const CollectiveCall& call, Act act);
  /// Throws Error when the workers of this process have come to different collectives.
  void require_one_collective() const;
  /// Waits until all that this worker has posted is done.
  void wait_for_posts(ThreadContext& context);
  void cross_barrier(ThreadContext& context, const CollectiveCall& call);
  void exchange_round(ThreadContext& context, const CollectiveCall& call);
  template <class Done>
  void wait(ThreadContext& context, ProcessId on, Done done) {
    wait(context, on, done, [] {});
  }
  /// `look` runs now and then, and throws when `done` can never come true.
  template <class Done, class Look>
  void wait(ThreadContext& context, ProcessId on, Done done, Look look);
  /// The word that is raised at `flag` must be of the same collective.
  void require_same(ProcessId peer, const std::uint64_t& flag, const CollectiveCall& mine) const;
  /// Whether the peer is in a barrier (gathering) that comes before the gathering (barrier) in
  /// which this process waits.
  void look_for_barrier(ProcessId peer, const CollectiveCall& mine) const;
  void look_for_gathering(ProcessId peer, const CollectiveCall& mine) const;
  void write(ThreadContext& context, ProcessId to, std::size_t offset, std::size_t length);
  /// The one post after `before` is nothing that wait_for_posts() has to wait for.
  void pass_over(ThreadContext& context, ProcessId to, std::uint64_t before) noexcept;
  void break_for_all(std::exception_ptr cause) noexcept;
  void throw_if_over() const;

  Core& core_;
  const std::uint32_t workers_;
  const std::uint32_t processes_;
  /// Of collectives among processes; touched by the one that acts for all.
  std::uint64_t barriers_ = 0;
  std::uint64_t gathers_ = 0;

  /// Release whenever a worker comes: pairs with see_arrivals.
  alignas(dtutils::kCacheLine) std::atomic<std::uint32_t> arrived_{0};
  alignas(dtutils::kCacheLine) std::atomic<std::uint64_t> finished_{0};
  std::atomic<bool> aborted_{false};
  /// A collective threw in the worker that acted for all: it throws the same in the others, and
  /// there are no more collectives.
  std::atomic<bool> broken_{false};
  mutable std::mutex mutex_;
  std::exception_ptr broken_by_;
  std::string abort_reason_;
};

}  // namespace dsfabric
