// SPDX-License-Identifier: MIT
// The second half of a rollout: the simulation of its leaf, and the way of the result to the root.
#pragma once

#include <atomic>
#include <cstdint>

#include "mcts/backpropagate.hpp"
#include "mcts/outbox.hpp"
#include "mcts/policy.hpp"
#include "mcts/settings.hpp"
#include "mcts/simulator.hpp"
#include "mcts/tree.hpp"
#include "mcts/worker_map.hpp"

namespace mcts {

/// Evaluates leaves, at once or when their turn comes, and adds results to the nodes above them:
/// itself for nodes of this process, by a call for others. Owner thread only.
template <class Walker, class Channel>
class LeafEvaluator {
 public:
  using G = typename Walker::GameHere;
  using OwnersHere = typename Walker::OwnersHere;
  using Out = Outbox<Walker, Channel>;

  LeafEvaluator(Tree<G>& tree, const WorkerMap& worker_map, Out& outbox, Counters& counters)
      : tree_(tree), worker_map_(worker_map), outbox_(outbox), counters_(counters) {}

  /// Before each search; at most `max_jobs` leaves will wait at once. `learns`: results carry the
  /// owners of their moves. Setup only.
  void begin(const Settings& settings, bool learns, const Policy& policy, std::uint32_t max_jobs) {
    simulator_.begin(settings, learns, max_jobs, worker_map_.rank());
    policy_ = policy;
    learns_ = learns;
    full_ = 2 * settings.playouts;
  }
  Random& random() noexcept { return simulator_.random(); }
  /// Leaves that wait for their simulation.
  std::size_t waiting() const noexcept { return simulator_.waiting(); }

  /// A rollout ends at the node, if there is one.
  static void count_at(Node<G>* node) noexcept {
    if (node != nullptr) node->own.fetch_add(1, std::memory_order_relaxed);
  }
  /// The first rollout at a new leaf, which has no node when there was no memory for one.
  void begin_at(Node<G>* node, Outcome outcome, const Job<G>& job, bool by_call) noexcept {
    count_at(node);
    outcome != Outcome::kOngoing ? end(outcome, job) : evaluate(job, by_call);
  }
  /// At a node whose game is decided.
  void end_at(Node<G>& node) noexcept {
    count_at(&node);
    end(node.outcome, {node.position, node.parent()});
  }
  void end(Outcome outcome, const Job<G>& job) noexcept {
    give_back(job, simulator_.all_end(outcome), outcome, nullptr);
  }
  /// `by_call`: it waits for its turn if there is room, since this runs inside progress().
  void evaluate(const Job<G>& job, bool by_call) noexcept {
    if (!by_call || !simulator_.push(job)) simulate(job);
  }
  /// Evaluates the leaf that waits longest; false: none waits.
  bool simulate_next() noexcept {
    if (simulator_.waiting() == 0) return false;
    simulate(simulator_.pop());
    return true;
  }

  /// Adds a result from a node of this process up, as far as it goes without a call.
  void credit(ParentRef to, Result result, const OwnersHere* owners) noexcept {
    const auto in_reach = [this](std::uint16_t rank) { return worker_map_.is_in_reach(rank); };
    const Arrival end = backpropagate(tree_, {to, result}, owners, full_, policy_, in_reach);
    end.to.is_nobody() ? finish(end.result) : outbox_.give_back(end.to, end.result, owners);
  }

 private:
  void simulate(const Job<G>& job) noexcept {
    OwnersHere owners;
    const std::uint32_t points = simulator_.simulate(job.position, owners);
    give_back(job, points, Outcome::kOngoing, learns_ ? &owners : nullptr);
  }
  void give_back(const Job<G>& job, std::uint32_t points, Outcome decided,
                 const OwnersHere* owners) noexcept {
    ++counters_.simulations;
    counters_.points += points;
    const Result result{static_cast<std::uint16_t>(points),
                        static_cast<std::uint16_t>(is_win(decided) ? decided : Outcome::kOngoing)};
    const ParentRef& to = job.parent;
    if (!job.link.is_pending()) return outbox_.created(to, job.link, result, owners);
    if (to.is_nobody()) return finish(result);
    worker_map_.is_in_reach(to.node.rank) ? credit(to, result, owners)
                                          : outbox_.give_back(to, result, owners);
  }
  void finish(Result result) noexcept {
    ++counters_.finished;
    const auto decided = static_cast<Outcome>(result.decided);
    if (decided != Outcome::kOngoing) tree_.prove(decided);
  }

  Tree<G>& tree_;
  const WorkerMap& worker_map_;
  Out& outbox_;
  Counters& counters_;
  Simulator<G> simulator_;
  Policy policy_;
  std::uint32_t full_ = 0;
  bool learns_ = false;
};

}  // namespace mcts
