// SPDX-License-Identifier: MIT
// Whether the counts of a distributed tree agree with each other, for tests.
#pragma once

#include <atomic>
#include <cstdint>

#include "dsfabric/dsfabric.hpp"
#include "mcts/channel.hpp"
#include "mcts/search_failure.hpp"
#include "mcts/tree.hpp"
#include "mcts/walker.hpp"

namespace mcts {

/// Compares every node's visits, as its parent counts them, with the rollouts that ended at it and
/// the visits of its children. Needs Settings::audit. Owner thread only.
template <Game G, SearchChannel Channel>
class TreeAudit {
 public:
  /// A collective of all workers. All of these outlive it. Setup only.
  TreeAudit(dsfabric::Thread& self, Tree<G>& tree, Walker<G, Channel>& walker, Channel& channel)
      : self_(self), tree_(tree), walker_(walker), channel_(channel), peers_(self, *this) {}
  TreeAudit(const TreeAudit&) = delete;
  TreeAudit& operator=(const TreeAudit&) = delete;

  /// Returns how many nodes differ, over all workers. A collective, between phases. Throws
  /// PeerFailed.
  std::uint64_t run() {
    audited_ = wrong_ = 0;
    self_.barrier();
    std::uint64_t sent = 0;
    for (const std::uint32_t cell : walker_.made()) {
      ask_parent(tree_.node(cell));
      ++sent;
    }
    channel_.flush();
    const auto sum = [this](std::uint64_t value) { return self_.all_reduce(value); };
    const std::uint64_t all = sum(sent);
    while (sum(audited_) != all) self_.progress();
    return sum(wrong_);
  }

 private:
  struct Check {
    dsfabric::GlobalPtr<TreeAudit> audit;
    ParentRef parent;
    std::uint32_t visits;
    void operator()(dsfabric::CallContext& call) const noexcept {
      audit.get(call.fabric)->check(parent, visits);
    }
  };

  void ask_parent(const Node<G>& node) {
    const ParentRef parent = node.parent();
    const dsfabric::ThreadId owner = walker_.thread_of(parent.node.rank);
    const Check check{peers_.on(owner), parent, visits_at(node)};
    dsfabric::CallStatus status;
    while ((status = channel_.call(owner, check)) == dsfabric::CallStatus::kFull) {
      self_.progress();
    }
    if (status == dsfabric::CallStatus::kPeerGone) report_failure(self_);
  }

  void check(const ParentRef& parent, std::uint32_t visits) noexcept {
    const Node<G>& node = tree_.node(parent.node.cell);
    const Children* children = node.children.load(std::memory_order_acquire);
    wrong_ += children == nullptr || children->tally(parent.child).visits != visits ||
              !children->link(parent.child).is_node();
    ++audited_;
  }

  static std::uint32_t visits_at(const Node<G>& node) noexcept {
    std::uint32_t visits = node.own.load(std::memory_order_relaxed);
    const Children* children = node.children.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; children != nullptr && i < children->count(); ++i) {
      visits += children->tally(i).visits;
    }
    return visits;
  }

  dsfabric::Thread& self_;
  Tree<G>& tree_;
  Walker<G, Channel>& walker_;
  Channel& channel_;
  dsfabric::DistributedObject<TreeAudit> peers_;
  std::uint64_t audited_ = 0;
  std::uint64_t wrong_ = 0;
};

}  // namespace mcts
