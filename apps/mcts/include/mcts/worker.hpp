// SPDX-License-Identifier: MIT
// A worker of a distributed search: its phases, and how they end.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "dtutils/wait.hpp"
#include "mcts/channel.hpp"
#include "mcts/report.hpp"
#include "mcts/shared.hpp"
#include "mcts/walker.hpp"

namespace mcts {

/// Runs a search as one of all workers of the job: begin(), then phase() as often as wanted, all by
/// all workers in the same order. Worker 0 of process 0 owns the root. Owner thread only.
///
/// Failure rests on what the own fabric believes (Fabric::failures, state): a worker that believes
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
                                        ? fabric.processes()
                                        : std::min(settings.processes, fabric.processes());
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
  Counters phase(std::uint64_t rollouts, std::chrono::steady_clock::time_point end, Watch&& watch) {
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
      if (walker_.broken() || self_.fabric().failures() != 0 || (!worked && somebody_failed())) {
        report_failure();
      }
      worked ? backoff.reset() : backoff.pause();
    }
    return self_.all_reduce(walker_.counters());
  }

  /// For tests: every node's visits, as its parent counts them, against the rollouts that ended at
  /// it and the visits of its children. Needs Settings::audit. Returns how many nodes differ, over
  /// all workers. A collective, between phases.
  std::uint64_t audit() {
    audited_ = wrong_ = 0;
    self_.barrier();
    std::uint64_t sent = 0;
    for (const std::uint32_t cell : walker_.made()) {
      const Node<G>& node = shared_.tree.node(cell);
      const ParentRef parent = node.parent();
      const Check check{peers_.on(walker_.thread_of(parent.node.rank)), parent, visits_at(node)};
      dsfabric::CallStatus status;
      while ((status = channel_.call(walker_.thread_of(parent.node.rank), check)) ==
             dsfabric::CallStatus::kFull) {
        self_.progress();
      }
      if (status == dsfabric::CallStatus::kPeerGone) report_failure();
      ++sent;
    }
    channel_.flush();
    const auto sum = [this](std::uint64_t value) { return self_.all_reduce(value); };
    const std::uint64_t all = sum(sent);
    while (sum(audited_) != all) self_.progress();
    return sum(wrong_);
  }

  /// The line of most visited children from the root, of at most `longest` moves. The root's worker
  /// only, between phases, while all others are in a collective. Throws Error when a process is
  /// gone.
  std::vector<Move> line(std::size_t longest) {
    std::vector<Move> moves;
    dsfabric::SendChannel calls(self_.fabric());
    dsfabric::ReturnSlot<LineStep> slot(self_.fabric());
    NodeRef at{shared_.tree.cell_of(*shared_.root), 0};
    while (moves.size() < longest) {
      const dsfabric::ThreadId owner = walker_.thread_of(at.rank);
      LineStep step;
      if (owner.process == self_.id().process) {
        step = step_from(at.cell);
      } else if (calls.call_return(owner, AskStep{peers_.on(owner), at.cell}, slot) ==
                 dsfabric::CallStatus::kAccepted) {
        step = slot.get();
      }
      if (step.move == kNoMove) break;
      moves.push_back(step.move);
      if (!Link::of(step.link).is_node()) break;
      at = Link::of(step.link).at();
    }
    return moves;
  }

  Shared<G>& shared() noexcept { return shared_; }
  /// What this worker alone has done since begin().
  const Counters& counters() const noexcept { return walker_.counters(); }

 private:
  using Clock = std::chrono::steady_clock;

  struct Over {
    dsfabric::GlobalPtr<Worker> worker;
    void operator()(dsfabric::CallContext& call) const noexcept {
      worker.get(call.fabric)->over_ = true;
    }
  };
  struct Check {
    dsfabric::GlobalPtr<Worker> worker;
    ParentRef parent;
    std::uint32_t visits;
    void operator()(dsfabric::CallContext& call) const noexcept {
      Worker& here = *worker.get(call.fabric);
      const Node<G>& node = here.shared_.tree.node(parent.node.cell);
      const Children* children = node.children.load(std::memory_order_acquire);
      here.wrong_ += children == nullptr || children->tally(parent.child).visits != visits ||
                     !children->link(parent.child).is_node();
      ++here.audited_;
    }
  };

  struct LineStep {
    std::uint64_t link = 0;
    Move move = kNoMove;
  };
  struct AskStep {
    dsfabric::GlobalPtr<Worker> worker;
    std::uint32_t cell;
    LineStep operator()(dsfabric::CallContext& call) const {
      return worker.get(call.fabric)->step_from(cell);
    }
  };
  LineStep step_from(std::uint32_t cell) const {
    const Children* children = shared_.tree.node(cell).children.load(std::memory_order_acquire);
    LineStep step;
    if (children == nullptr) return step;
    MoveReport high;
    for (std::uint32_t i = 0; i < children->count(); ++i) {
      const MoveReport each = report_move(*children, i, 1);
      if (each.visits == 0 || (step.move != kNoMove && !better(each, high))) continue;
      high = each;
      step = {children->link(i).bits(), each.move};
    }
    return step;
  }

  static std::uint32_t visits_at(const Node<G>& node) noexcept {
    std::uint32_t visits = node.own.load(std::memory_order_relaxed);
    const Children* children = node.children.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; children != nullptr && i < children->count(); ++i) {
      visits += children->tally(i).visits;
    }
    return visits;
  }

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
    const std::uint32_t most = burst();
    while (started < most && may_start()) {
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
        report_failure();
      }
    }
    channel_.flush();
    over_ = true;
  }

  bool somebody_failed() const noexcept {
    const dsfabric::Fabric& fabric = self_.fabric();
    for (std::uint16_t p = 0; p < fabric.processes(); ++p) {
      if (fabric.state({p}) != dsfabric::PeerState::kActive) return true;
    }
    return false;
  }
  [[noreturn]] void report_failure() const {
    // Any collective knows who it is.
    self_.barrier();
    throw dtutils::Error("search", "a call could not be made", "check the other processes");
  }

  static constexpr std::uint64_t kTickets = 16;

  dsfabric::Thread& self_;
  Shared<G>& shared_;
  Channel channel_;
  Walker<G, Channel> walker_;
  dsfabric::DistributedObject<Worker> peers_;
  Pace& pace_;
  Settings settings_;
  /// Rollouts under way in the whole job when one was started last, and those of them that other
  /// workers of this process have started.
  std::uint64_t under_way_ = 0;
  std::uint64_t others_ = 0;
  std::uint64_t tickets_ = 0;
  Counters before_;
  std::uint64_t audited_ = 0;
  std::uint64_t wrong_ = 0;
  bool over_ = false;
};

}  // namespace mcts
