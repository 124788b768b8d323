// SPDX-License-Identifier: MIT
// One thread's way through the distributed tree: selection and creation; LeafEvaluator does the
// rest.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "mcts/leaf_evaluator.hpp"
#include "mcts/messages.hpp"
#include "mcts/outbox.hpp"
#include "mcts/placement.hpp"
#include "mcts/policy.hpp"
#include "mcts/settings.hpp"
#include "mcts/simulator.hpp"
#include "mcts/tree.hpp"
#include "mcts/window.hpp"
#include "mcts/worker_map.hpp"

namespace mcts {

/// The rollouts of Seriema 5.3.2. Nodes are owned by workers (Placement). A rollout moves along the
/// tree by calls (Messages): Select to the owner of the next node, Create (with the position) to
/// the owner of a new one, Created back to its parent with its place and first result, and Return
/// upwards with later results. With Spread::kLeaves nodes stay where their parents are, and
/// Simulate lends the work of a new leaf to another worker. Within a process it simply goes on,
/// since nodes may be used by all threads of their process.
///
/// Exactly one of these ends each rollout: it comes back to the root, in the root's process, and is
/// counted as finished there. Owner thread only; calls reach it in progress() of that thread.
///
/// `Channel` is a way to make calls: call and call_buffer of dsfabric::Calls, and flush().
template <Game G, class Channel>
class Walker {
 public:
  using GameHere = G;
  using OwnersHere = typename OwnersOf<G>::Type;

  /// A collective of all workers. `tree` is that of the process. Setup only.
  Walker(dsfabric::Thread& self, Tree<G>& tree, Channel& channel)
      : tree_(tree),
        slab_(tree.arena()),
        worker_map_(self, this),
        outbox_(worker_map_, channel, counters_),
        leaves_(tree, worker_map_, outbox_, counters_),
        rank_(worker_map_.rank()) {}
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  /// Before each search, when no call is under way. Setup only.
  void begin(const Settings& settings, std::uint32_t workers, std::uint32_t root_threads) {
    settings_ = settings;
    window_ = Window::of(settings, workers, kLongestCall);
    lends_ = spread_of(settings, workers, root_threads) == Spread::kLeaves;
    learns_ = HasOwners<G> && settings.rave > 0;
    policy_ = Policy::of(settings, learns_);
    counters_ = {};
    slab_.forget();
    worker_map_.begin(settings);
    leaves_.begin(settings, learns_, policy_, window_.max());
    made_.clear();
    root_visits_ = 0;
    root_threads_ = root_threads;
    workers_ = workers;
    busy_ = false;
    // When each step is a call anyway, threads of one process are as far as others.
    const bool apart = settings.always_call;
    placement_.begin(settings, {workers, root_threads, apart ? rank_ : worker_map_.first_near(),
                                apart ? 1 : worker_map_.near()});
  }

  /// Makes the root here. False: no memory at all.
  bool plant(const G& position) noexcept {
    root_ = tree_.make_node(slab_, position, ParentRef::of_root(), rank_, position.outcome());
    return root_ != nullptr;
  }
  void set_root(Node<G>* root) noexcept { root_ = root; }
  Node<G>* root() const noexcept { return root_; }

  /// Rollouts that may be under way in the whole job. Who starts none estimates how many have been
  /// started from how many it has simulated.
  std::uint32_t window() const noexcept {
    return window_.at(rank_ < root_threads_ ? root_visits_ : counters_.simulations * workers_);
  }
  /// One rollout from the root, which lies in this process; `under_way` others are on their way.
  void start(std::uint64_t under_way) noexcept {
    ++counters_.started;
    root_visits_ += root_threads_;
    // A leaf that is lent is back soon; a node that was given away brings later rollouts with it,
    // and each crossing costs.
    busy_ = under_way < window() / (lends_ ? 2 : 4);
    descend(*root_, root_visits_, false);
  }
  /// Runs one simulation that a call has left here; false: there is none.
  bool simulate_next() noexcept { return leaves_.simulate_next(); }

  const Counters& counters() const noexcept { return counters_; }
  /// A call could not be made: its destination is gone, and rollouts with it.
  bool broken() const noexcept { return outbox_.broken(); }
  std::uint16_t rank() const noexcept { return rank_; }
  Tree<G>& tree() const noexcept { return tree_; }
  /// Cells of the nodes made here, with Settings::audit.
  const std::vector<std::uint32_t>& made() const noexcept { return made_; }
  dsfabric::ThreadId thread_of(std::uint16_t rank) const noexcept {
    return worker_map_.thread_of(rank);
  }

 private:
  friend Messages<Walker>;
  /// A position or what was learned, and the rest of a call.
  static constexpr std::size_t kLongestCall = 64 + std::max(sizeof(G), sizeof(OwnersHere));

  // --- what calls bring ------------------------------------------------------------------------
  void on_select(std::uint32_t cell, std::uint32_t visits) noexcept {
    descend(tree_.node(cell), visits, true);
  }
  /// The parent learns of the new node with its first result.
  void on_create(const G& position, ParentRef parent) noexcept {
    const Outcome outcome = position.outcome();
    Node<G>* const made = make(position, parent, rank_, outcome);
    leaves_.begin_at(made, outcome, {position, parent, link_to(made)}, true);
  }
  void on_simulate(const G& position, ParentRef parent) noexcept {
    leaves_.evaluate({position, parent}, true);
  }
  void on_return(ParentRef to, Result result, const OwnersHere* owners) noexcept {
    leaves_.credit(to, result, owners);
  }
  void on_created(ParentRef to, Link link, Result result, const OwnersHere* owners) noexcept {
    resume(tree_.node(to.node.cell), to.child, link, true);
    leaves_.credit(to, result, owners);
  }

  bool here(std::uint16_t rank) const noexcept { return worker_map_.is_in_reach(rank); }

  // --- selection -------------------------------------------------------------------------------
  /// From a node of this process down. `by_call`: simulations must wait for their turn, since this
  /// runs inside progress().
  void descend(Node<G>& start, std::uint32_t visits, bool by_call) noexcept {
    Node<G>* node = &start;
    for (;;) {
      if (node->outcome != Outcome::kOngoing) return leaves_.end_at(*node);
      Children* const children = tree_.children_of(*node, visits, slab_, learns_, leaves_.random());
      if (children == nullptr) return stay_at(*node, by_call);
      const auto [i, visits_of_child] = children->select(policy_, visits, slab_);
      if (visits_of_child == 0) return stay_at(*node, by_call);
      if (visits_of_child == 1) return expand(*node, *children, i, by_call);
      visits = visits_of_child;
      Link link = children->link(i);
      if (link.is_pending()) link = children->defer(i);
      if (link.is_pending()) {
        ++counters_.deferred;
        return;
      }
      node = follow(*node, *children, i, link, visits, by_call);
      if (node == nullptr) return;
    }
  }

  /// A rollout ends at a node whose children get no memory.
  void stay_at(Node<G>& node, bool by_call) noexcept {
    ++counters_.refused;
    leaves_.count_at(&node);
    share(node.position, node.parent(), by_call);
  }

  /// Goes on to child `i`, whose visit is counted: by call (nullptr), or the node is in this
  /// process.
  Node<G>* follow(Node<G>& node, Children& children, std::uint32_t i, Link link,
                  std::uint32_t visits, bool by_call) noexcept {
    if (!link.is_node()) {
      G next = node.position;
      next.apply(children.move(i));
      ++counters_.refused;
      const Outcome outcome = next.outcome();
      const ParentRef parent = parent_ref(node, i);
      outcome != Outcome::kOngoing ? leaves_.end(outcome, {next, parent})
                                   : share(next, parent, by_call);
      return nullptr;
    }
    const NodeRef at = link.at();
    if (here(at.rank)) return &tree_.node(at.cell);
    outbox_.select(at, visits);
    return nullptr;
  }

  // --- creation --------------------------------------------------------------------------------
  /// Child `i`, whose first visit is counted, gets a node.
  void expand(Node<G>& node, Children& children, std::uint32_t i, bool by_call) noexcept {
    G next = node.position;
    next.apply(children.move(i));
    const std::uint16_t chosen = placement_.choose(is_busy(), leaves_.random());
    const ParentRef parent = parent_ref(node, i);
    if (!here(chosen) && !lends_) return outbox_.create(chosen, next, parent);
    const Outcome outcome = next.outcome();
    Node<G>* const made = make(next, parent, here(chosen) ? chosen : rank_, outcome);
    resume(node, i, link_to(made), by_call);
    if (here(chosen) || outcome != Outcome::kOngoing) {
      return leaves_.begin_at(made, outcome, {next, parent}, by_call);
    }
    leaves_.count_at(made);
    outbox_.simulate(chosen, next, parent);
  }
  /// Whether others have less to do. The starters see how many rollouts are away; others see how
  /// many wait here.
  bool is_busy() const noexcept {
    if (rank_ < root_threads_) return busy_;
    // Half as many again as its share: nodes that come and go because of small differences cost
    // more calls than the differences cost time.
    const std::uint32_t share = window() / workers_;
    return leaves_.waiting() > share + share / 2;
  }

  /// Child `i` of the node is there: selections that waited for it go on.
  void resume(Node<G>& node, std::uint32_t i, Link link, bool by_call) noexcept {
    Children& children = *node.children.load(std::memory_order_acquire);
    for (std::uint64_t left = children.resolve(i, link); left > 0; --left) {
      const std::uint32_t visits = children.tally(i).visits;
      Node<G>* const next = follow(node, children, i, link, visits, by_call);
      if (next != nullptr) descend(*next, visits, by_call);
    }
  }

  Node<G>* make(const G& position, ParentRef parent, std::uint16_t owner,
                Outcome outcome) noexcept {
    Node<G>* const made = tree_.make_node(slab_, position, parent, owner, outcome);
    if (made == nullptr) return nullptr;
    ++counters_.nodes;
    if (settings_.audit) made_.push_back(tree_.cell_of(*made));
    return made;
  }
  Link link_to(Node<G>* made) const noexcept {
    return made == nullptr ? Link::none() : Link::node({tree_.cell_of(*made), made->owner});
  }
  ParentRef parent_ref(const Node<G>& node, std::uint32_t i) const noexcept {
    return {{tree_.cell_of(node), node.owner}, static_cast<std::uint16_t>(i)};
  }

  /// The simulation of a position that gets no node: here, or lent to a worker with less to do. The
  /// root stays here, since its rollouts end in this process.
  void share(const G& position, const ParentRef& parent, bool by_call) noexcept {
    const std::uint16_t chosen = placement_.choose(is_busy(), leaves_.random());
    if (here(chosen) || parent.is_nobody()) return leaves_.evaluate({position, parent}, by_call);
    outbox_.simulate(chosen, position, parent);
  }

  Tree<G>& tree_;
  Slab slab_;
  /// With the walkers of all workers.
  WorkerMap worker_map_;
  Counters counters_;
  Outbox<Walker, Channel> outbox_;
  LeafEvaluator<Walker, Channel> leaves_;
  std::uint16_t rank_;
  std::uint32_t root_threads_ = 1;
  std::uint32_t root_visits_ = 0;
  std::uint32_t workers_ = 1;
  bool learns_ = false;
  bool lends_ = false;
  bool busy_ = false;
  Settings settings_;
  Policy policy_;
  Placement placement_;
  Window window_;
  Node<G>* root_ = nullptr;
  std::vector<std::uint32_t> made_;
};

}  // namespace mcts
