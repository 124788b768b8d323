// SPDX-License-Identifier: MIT
// One thread's work in the distributed tree: selection, creation, simulation, the way back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "mcts/settings.hpp"
#include "mcts/tree.hpp"

namespace mcts {

/// The rollouts of Seriema 5.3.2. Nodes are owned by workers; a node's children lie wherever chance
/// has put them. A rollout moves along the tree by calls: Select to the owner of the next node,
/// Create (with the position) to the owner of a new one, Created back to its parent with its place
/// and first result, and Return upwards with later results. Within a process it simply goes on,
/// since nodes may be used by all threads of their process.
///
/// Exactly one of these ends each rollout: it comes back to the root, in the root's process, and is
/// counted as finished there. Owner thread only; calls reach it in progress() of that thread.
///
/// `Channel` is a way to make calls: call and call_buffer of dsfabric::Calls, and flush().
template <Game G, class Channel>
class Walker {
 public:
  /// A collective of all workers. `tree` is that of the process. Setup only.
  Walker(dsfabric::Thread& self, Tree<G>& tree, Channel& channel)
      : channel_(channel),
        tree_(tree),
        slab_(tree.arena()),
        rank_(static_cast<std::uint16_t>(self.fabric().rank_of(self.id()))),
        random_(0),
        threads_(self.fabric().info(self.fabric().process()).threads),
        peers_(self.all_gather(reinterpret_cast<std::uint64_t>(this))) {
    dsfabric::Fabric& fabric = self.fabric();
    first_rank_ = static_cast<std::uint16_t>(rank_ - self.id().index);
    for (std::uint32_t rank = 0; rank < fabric.total_threads(); ++rank) {
      threads_of_job_.push_back(fabric.thread_of_rank(rank));
    }
  }
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  /// Before each search, when no call is under way. Setup only.
  void begin(const Settings& settings, std::uint32_t workers_of_job, std::uint32_t root_threads,
             std::uint32_t under_way) {
    settings_ = settings;
    workers_ = workers_of_job;
    full_ = 2 * settings.playouts;
    points_a_visit_ = static_cast<float>(full_);
    random_ = Random(settings.seed, rank_);
    counters_ = {};
    slab_.forget();
    jobs_.assign(under_way, {});
    first_job_ = waiting_jobs_ = 0;
    made_.clear();
    root_visits_ = 0;
    root_threads_ = root_threads;
    // A worker beside the root's process is chosen 1 / root_share times as often as one in it.
    const double beside = workers_ - root_threads;
    const double at_root = root_threads * static_cast<double>(settings.root_share);
    at_root_limit_ = static_cast<std::uint64_t>(at_root / (at_root + beside) * 4294967296.0);
  }

  /// Makes the root here. False: no memory at all.
  bool plant(const G& position) noexcept {
    root_ = tree_.make_node(slab_, position, ParentRef::of_root(), rank_, position.outcome());
    return root_ != nullptr;
  }
  void set_root(Node<G>* root) noexcept { root_ = root; }
  Node<G>* root() const noexcept { return root_; }

  /// One rollout from the root, which lies in this process.
  void start() noexcept {
    ++counters_.started;
    root_visits_ += root_threads_;
    descend(*root_, root_visits_, false);
  }
  /// Runs one simulation that a call has left here; false: there is none.
  bool simulate_next() noexcept {
    if (waiting_jobs_ == 0) return false;
    const Job job = jobs_[first_job_];
    first_job_ = first_job_ + 1 == jobs_.size() ? 0 : first_job_ + 1;
    --waiting_jobs_;
    simulate(job);
    return true;
  }

  const Counters& counters() const noexcept { return counters_; }
  /// A call could not be made: its destination is gone, and rollouts with it.
  bool broken() const noexcept { return broken_; }
  std::uint16_t rank() const noexcept { return rank_; }
  Tree<G>& tree() const noexcept { return tree_; }
  /// Cells of the nodes made here, with Settings::audit.
  const std::vector<std::uint32_t>& made() const noexcept { return made_; }
  dsfabric::ThreadId thread_of(std::uint16_t rank) const noexcept { return threads_of_job_[rank]; }

 private:
  using Context = dsfabric::CallContext;

  /// What a rollout brings back: points of player 0 (2 for a won playout), and who wins the
  /// position for sure.
  struct Result {
    std::uint16_t points : 14;
    std::uint16_t decided : 2;
  };
  static_assert(sizeof(Result) == 2);

  struct Job {
    G position = G();
    ParentRef parent = ParentRef::of_root();
    /// Of the node that was created by call for this position; pending: its parent knows it.
    Link link = Link::pending();
  };

  // --- what travels ----------------------------------------------------------------------------
  // Each carries the address of its destination's walker (SameObject), not a GlobalPtr, and no more
  // of a ParentRef than the destination needs: a rollout makes several of these, so bytes count.
  struct Select {
    std::uint64_t walker;
    std::uint32_t cell;
    std::uint32_t visits;
    void operator()() const noexcept {
      Walker& here = at(walker);
      here.descend(here.tree_.node(cell), visits, true);
    }
  };
  struct Create {
    std::uint64_t walker;
    std::uint32_t parent_cell;
    std::uint16_t parent_rank;
    std::uint16_t child;
    void operator()(Context&, std::byte* position, std::uint32_t) const noexcept {
      at(walker).create(*std::launder(reinterpret_cast<G*>(position)),
                        {{parent_cell, parent_rank}, child});
    }
  };
  struct Return {
    std::uint64_t walker;
    std::uint32_t cell;
    std::uint16_t child;
    Result result;
    void operator()() const noexcept { at(walker).credit({{cell, 0}, child}, result); }
  };
  /// The first Return of a new node, with its place.
  struct Created {
    std::uint64_t walker;
    std::uint64_t link;
    std::uint32_t cell;
    std::uint16_t child;
    Result result;
    void operator()() const noexcept {
      Walker& here = at(walker);
      here.resume(here.tree_.node(cell), child, Link::of(link), true);
      here.credit({{cell, 0}, child}, result);
    }
  };
  static_assert(sizeof(Select) == 16 && sizeof(Create) == 16 && sizeof(Return) == 16 &&
                sizeof(Created) == 24);

  static Walker& at(std::uint64_t walker) noexcept { return *reinterpret_cast<Walker*>(walker); }
  /// Whether a node of that worker is reached without a call.
  bool here(std::uint16_t rank) const noexcept {
    return static_cast<std::uint16_t>(rank - first_rank_) < threads_ && !settings_.always_call;
  }
  template <class F>
  void send(std::uint16_t to, const F& function, std::span<const std::byte> extra = {}) noexcept {
    ++counters_.calls;
    counters_.bytes += sizeof(F) + extra.size();
    if (!channel_.call_buffer(threads_of_job_[to], function, extra)) broken_ = true;
  }

  /// Selection, from a node of this process down. `by_call`: simulations must wait for their turn,
  /// since this runs inside progress().
  void descend(Node<G>& start, std::uint32_t visits, bool by_call) noexcept {
    Node<G>* node = &start;
    for (;;) {
      if (node->outcome != Outcome::kOngoing) return end_at(*node);
      Children* const children = tree_.children_of(*node, slab_, random_);
      if (children == nullptr) {
        ++counters_.refused;
        node->own.fetch_add(1, std::memory_order_relaxed);
        return evaluate({node->position, node->parent()}, by_call);
      }
      std::uint32_t i = children->take_next();
      if (i < children->count()) return expand(*node, *children, i, by_call);
      i = children->best(settings_.exploration, visits);
      visits = children->visit(i, points_a_visit_);
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

  /// Goes on to child `i`, whose visit is counted: by call (nullptr), or the node is in this
  /// process.
  Node<G>* follow(Node<G>& node, Children& children, std::uint32_t i, Link link,
                  std::uint32_t visits, bool by_call) noexcept {
    if (!link.is_node()) {
      G next = node.position;
      next.apply(children.move(i));
      ++counters_.refused;
      begin(nullptr, next.outcome(), {next, parent_ref(node, i)}, by_call);
      return nullptr;
    }
    const NodeRef at = link.at();
    if (here(at.rank)) return &tree_.node(at.cell);
    send(at.rank, Select{peers_[at.rank], at.cell, visits});
    return nullptr;
  }

  void expand(Node<G>& node, Children& children, std::uint32_t i, bool by_call) noexcept {
    children.visit(i, points_a_visit_);
    G next = node.position;
    next.apply(children.move(i));
    const std::uint16_t owner = place();
    const ParentRef parent = parent_ref(node, i);
    if (!here(owner)) {
      return send(owner, Create{peers_[owner], parent.node.cell, parent.node.rank, parent.child},
                  std::as_bytes(std::span(&next, 1)));
    }
    const Outcome outcome = next.outcome();
    Node<G>* const made = make(next, parent, owner, outcome);
    resume(node, i, link_to(made), by_call);
    begin(made, outcome, {next, parent}, by_call);
  }

  /// The position was sent here, to become a node. Its parent learns of it with its first result.
  void create(const G& position, ParentRef parent) noexcept {
    const Outcome outcome = position.outcome();
    Node<G>* const made = make(position, parent, rank_, outcome);
    begin(made, outcome, {position, parent, link_to(made)}, true);
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

  /// The first rollout at a new leaf, which has no node when there was no memory for one.
  void begin(Node<G>* node, Outcome outcome, const Job& job, bool by_call) noexcept {
    if (node != nullptr) node->own.fetch_add(1, std::memory_order_relaxed);
    outcome != Outcome::kOngoing ? end(outcome, job) : evaluate(job, by_call);
  }
  void end_at(Node<G>& node) noexcept {
    node.own.fetch_add(1, std::memory_order_relaxed);
    end(node.outcome, {node.position, node.parent()});
  }
  /// The game is over here: all playouts end alike.
  void end(Outcome outcome, const Job& job) noexcept {
    give_back(job, settings_.playouts * points_of(outcome), outcome);
  }
  void evaluate(const Job& job, bool by_call) noexcept {
    if (!by_call || waiting_jobs_ == jobs_.size()) return simulate(job);
    std::size_t at = first_job_ + waiting_jobs_++;
    if (at >= jobs_.size()) at -= jobs_.size();
    jobs_[at] = job;
  }
  void simulate(const Job& job) noexcept {
    std::uint32_t points = 0;
    for (std::uint32_t i = 0; i < settings_.playouts; ++i) {
      points += points_of(playout(job.position, random_));
    }
    give_back(job, points, Outcome::kOngoing);
  }
  static std::uint32_t points_of(Outcome outcome) noexcept {
    return outcome == Outcome::kFirst ? 2 : outcome == Outcome::kDraw ? 1 : 0;
  }

  /// Backpropagation of a new result.
  void give_back(const Job& job, std::uint32_t points, Outcome decided) noexcept {
    ++counters_.simulations;
    counters_.points += points;
    const Result result{static_cast<std::uint16_t>(points),
                        static_cast<std::uint16_t>(is_win(decided) ? decided : Outcome::kOngoing)};
    const ParentRef& to = job.parent;
    if (!job.link.is_pending()) {
      return send(to.node.rank,
                  Created{peers_[to.node.rank], job.link.bits(), to.node.cell, to.child, result});
    }
    if (to.is_nobody()) return finish(result);
    here(to.node.rank) ? credit(to, result) : send_back(to, result);
  }
  void send_back(const ParentRef& to, Result result) noexcept {
    send(to.node.rank, Return{peers_[to.node.rank], to.node.cell, to.child, result});
  }
  /// From a node of this process up, as far as it goes without a call.
  void credit(ParentRef to, Result result) noexcept {
    do {
      Node<G>& node = tree_.node(to.node.cell);
      Children& children = *node.children.load(std::memory_order_acquire);
      const int mover = node.position.player();
      const auto decided = static_cast<Outcome>(result.decided);
      const Proof proof = decided == Outcome::kOngoing ? Proof::kNone
                          : decided == win_of(mover)   ? Proof::kWin
                                                       : Proof::kLoss;
      const std::uint32_t points = mover == 0 ? result.points : full_ - result.points;
      const bool all_lost = children.settle(to.child, points, proof, points_a_visit_);
      const Outcome known = proof == Proof::kWin ? win_of(mover)
                            : all_lost           ? win_of(1 - mover)
                                                 : Outcome::kOngoing;
      result.decided = static_cast<std::uint16_t>(known) & 3;
      to = node.parent();
      if (to.is_nobody()) return finish(result);
    } while (here(to.node.rank));
    send_back(to, result);
  }
  void finish(Result result) noexcept {
    ++counters_.finished;
    const auto decided = static_cast<Outcome>(result.decided);
    if (decided != Outcome::kOngoing) tree_.prove(decided);
  }

  /// The owner of a new node: chosen at random among all workers.
  std::uint16_t place() noexcept {
    const std::uint64_t number = random_();
    const std::uint32_t low = static_cast<std::uint32_t>(number);
    const std::uint64_t high = number >> 32;
    if (low < at_root_limit_) return static_cast<std::uint16_t>(high * root_threads_ >> 32);
    return static_cast<std::uint16_t>(root_threads_ + (high * (workers_ - root_threads_) >> 32));
  }

  Channel& channel_;
  Tree<G>& tree_;
  Slab slab_;
  std::uint16_t rank_;
  std::uint16_t first_rank_ = 0;
  bool broken_ = false;
  Random random_;
  std::uint32_t threads_;
  std::uint32_t workers_ = 0;
  std::uint32_t root_threads_ = 1;
  std::uint32_t root_visits_ = 0;
  std::uint32_t full_ = 0;
  float points_a_visit_ = 0;
  std::uint64_t at_root_limit_ = 0;
  Settings settings_;
  Counters counters_;
  Node<G>* root_ = nullptr;
  std::vector<Job> jobs_;
  std::size_t first_job_ = 0;
  std::size_t waiting_jobs_ = 0;
  std::vector<std::uint32_t> made_;
  std::vector<dsfabric::ThreadId> threads_of_job_;
  /// The walkers of all workers, by rank, as addresses in their processes.
  std::vector<std::uint64_t> peers_;
};

}  // namespace mcts
