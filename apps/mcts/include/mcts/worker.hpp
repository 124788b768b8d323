// SPDX-License-Identifier: MIT
// A worker of a distributed search: its phases, and how they end.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/wait.hpp"
#include "mcts/channel.hpp"
#include "mcts/most_visited_line.hpp"
#include "mcts/search_failure.hpp"
#include "mcts/shared.hpp"
#include "mcts/tree_audit.hpp"
#include "mcts/walker.hpp"

namespace mcts {

/// Runs a search as one of all workers of the job: begin(), then phase() as often as wanted, all by
/// all workers in the same order. Worker 0 of process 0 owns the root. Owner thread only.
///
/// Failure rests on what its own fabric believes (Fabric::failures, state): a worker that believes
/// that any process has failed or left gives its phase up, by PeerFailed. Others may learn of it
/// later, so that phase() may return there, and the next collective throws. A process that was
/// given up though it lives, and wakes, finds its connections broken and throws as well. Nothing is
/// agreed on: the root's report counts what came back to the root.
template <Game G, SearchChannel Channel>
class Worker {
 public:
  /// A collective. Setup only.
  Worker(dsfabric::Thread& self, Shared<G>& shared)
      : self_(self),
        shared_(shared),
        channel_(self),
        walker_(self, shared.tree, channel_),
        audit_(self, shared.tree, walker_, channel_),
        line_(self, shared.tree, walker_),
        peers_(self, *this),
        pace_(shared.pace(self.id().index)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  dsfabric::Thread& thread() const noexcept { return self_; }
  bool is_root() const noexcept { return walker_.rank() == 0; }
  /// Starts rollouts: it lives in the root's process.
  bool is_starter() const noexcept { return self_.id().process == dsfabric::ProcessId{0}; }

  /// Forgets the last tree and plants a new one. A collective; throws as these, and Error when the
  /// memory limit leaves no room for one node.
  void begin(const G& position, const Settings& settings) {
    settings_ = settings;
    dsfabric::Fabric& fabric = self_.fabric();
    const std::uint32_t processes = settings.processes == 0
                                        ? fabric.founders()
                                        : std::min(settings.processes, fabric.founders());
    std::uint32_t workers = 0;
    for (std::uint16_t p = 0; p < processes; ++p) workers += fabric.info({p}).threads;
    const std::uint32_t root_threads = fabric.info({0}).threads;
    if (self_.id().index == 0) shared_.tree.reset();
    self_.barrier();
    walker_.begin(settings, workers, root_threads);
    if (is_root() && !walker_.plant(position)) {
      throw dtutils::Error("search", "no memory for the root", "raise the limit (--memory)");
    }
    if (is_root()) shared_.root = walker_.root();
    self_.barrier();
    if (is_starter()) walker_.set_root(shared_.root);
  }

  /// At most `rollouts` more, until `end`; `watch` is called now and then by the root's worker.
  /// Returns what all workers have done since begin(). A collective: throws PeerFailed.
  template <class Watch>
  Counters phase(std::uint64_t rollouts, dtutils::Clock::time_point end, Watch&& watch) {
    if (self_.id().index == 0) shared_.begin_phase(rollouts);
    over_ = false;
    tickets_ = 0;
    before_ = walker_.counters();
    self_.barrier();
    dtutils::Backoff backoff;
    while (!over_) {
      bool worked = self_.progress();
      for (std::uint32_t left = burst(); left > 0 && walker_.simulate_next(); --left) worked = true;
      if (is_starter()) worked |= start_some();
      channel_.flush();
      if (is_root()) end_phase_when_due(end, watch);
      // Not only when there is nothing to do: a worker that lends no more may go on by itself.
      if (walker_.broken() || self_.fabric().failures() != 0 ||
          (!worked && somebody_failed(self_.fabric()))) {
        report_failure(self_);
      }
      worked ? backoff.reset() : backoff.pause();
    }
    return self_.all_reduce(walker_.counters());
  }

  /// For tests: every node's visits, as its parent counts them, against the rollouts that ended at
  /// it and the visits of its children. Needs Settings::audit. Returns how many nodes differ, over
  /// all workers. A collective, between phases.
  std::uint64_t audit() { return audit_.run(); }

  /// The line of most visited children from the root, of at most `longest` moves. The root's worker
  /// only, between phases, while all others are in a collective. Throws Error when a process is
  /// gone.
  std::vector<Move> line(std::size_t longest) { return line_.moves(*shared_.root, longest); }

  Shared<G>& shared() noexcept { return shared_; }
  /// What this worker alone has done since begin().
  const Counters& counters() const noexcept { return walker_.counters(); }

 private:
  using Clock = dtutils::Clock;

  struct Over {
    dsfabric::GlobalPtr<Worker> worker;
    void operator()(dsfabric::CallContext& call) const noexcept {
      worker.get(call.fabric)->over_ = true;
    }
  };
  /// Rollouts or simulations between two looks at what has arrived: about ten microseconds, since
  /// results that are fetched together cost less; and a small part of those under way, lest others
  /// wait for them.
  std::uint32_t burst() const noexcept {
    return std::clamp(walker_.window() / 16, 1u, std::max(64 / settings_.playouts, 1u));
  }

  bool start_some() noexcept {
    std::uint32_t started = 0;
    if (shared_.threads() > 1) {
      others_ = shared_.under_way() - (this->started() - finished());
    }
    const std::uint32_t max = burst();
    while (started < max && may_start()) {
      walker_.start(under_way_);
      --tickets_;
      ++started;
      publish();
    }
    publish();
    return started != 0;
  }
  bool may_start() noexcept {
    if (tickets_ == 0) {
      tickets_ = shared_.take(kTickets);
      if (tickets_ == 0) {
        // Release: `started` is complete; pairs with all_ended().
        pace_.ended.store(true, std::memory_order_release);
        return false;
      }
    }
    if (shared_.stopped()) {
      tickets_ = 0;
      return may_start();
    }
    under_way_ = started() - finished() + others_;
    return under_way_ < walker_.window();
  }
  std::uint64_t started() const noexcept { return walker_.counters().started - before_.started; }
  std::uint64_t finished() const noexcept { return walker_.counters().finished - before_.finished; }
  void publish() noexcept {
    // Release: `started` before `finished`, so that who sees a finish sees its start.
    pace_.started.store(started(), std::memory_order_release);
    pace_.finished.store(finished(), std::memory_order_release);
  }

  template <class Watch>
  void end_phase_when_due(Clock::time_point end, Watch&& watch) {
    const auto now = Clock::now();
    if (now >= end || (settings_.stop_when_proven && shared_.tree.proven() != Outcome::kOngoing)) {
      shared_.stop();
    }
    watch(now);
    if (!shared_.all_ended() || shared_.under_way() != 0) return;
    for (std::uint16_t rank = 1; rank < self_.fabric().total_threads(); ++rank) {
      const dsfabric::ThreadId to = walker_.thread_of(rank);
      if (channel_.call(to, Over{peers_.on(to)}) != dsfabric::CallStatus::kAccepted) {
        report_failure(self_);
      }
    }
    channel_.flush();
    over_ = true;
  }

  static constexpr std::uint64_t kTickets = 16;

  dsfabric::Thread& self_;
  Shared<G>& shared_;
  Channel channel_;
  Walker<G, Channel> walker_;
  TreeAudit<G, Channel> audit_;
  MostVisitedLine<G, Channel> line_;
  dsfabric::DistributedObject<Worker> peers_;
  Pace& pace_;
  Settings settings_;
  /// Rollouts under way in the whole job when one was started last, and those of them that other
  /// workers of this process have started.
  std::uint64_t under_way_ = 0;
  std::uint64_t others_ = 0;
  std::uint64_t tickets_ = 0;
  Counters before_;
  bool over_ = false;
};

}  // namespace mcts
