// SPDX-License-Identifier: MIT
// The moves that a distributed search thinks will be played.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "mcts/channel.hpp"
#include "mcts/report.hpp"
#include "mcts/tree.hpp"
#include "mcts/walker.hpp"

namespace mcts {

/// Follows the most visited children from the root, by a call to the owner of each next node.
template <Game G, SearchChannel Channel>
class MostVisitedLine {
 public:
  /// A collective of all workers. All of these outlive it. Setup only.
  MostVisitedLine(dsfabric::Thread& self, Tree<G>& tree, const Walker<G, Channel>& walker)
      : self_(self), tree_(tree), walker_(walker), peers_(self, *this) {}
  MostVisitedLine(const MostVisitedLine&) = delete;
  MostVisitedLine& operator=(const MostVisitedLine&) = delete;

  /// At most `longest` moves. The root's worker only, between phases, while all others are in a
  /// collective. Throws Error when a process is gone.
  std::vector<Move> moves(const Node<G>& root, std::size_t longest) {
    std::vector<Move> moves;
    dsfabric::SendChannel calls(self_.fabric());
    dsfabric::ReturnSlot<Step> slot(self_.fabric());
    NodeRef at{tree_.cell_of(root), 0};
    while (moves.size() < longest) {
      const dsfabric::ThreadId owner = walker_.thread_of(at.rank);
      Step step;
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

 private:
  struct Step {
    std::uint64_t link = 0;
    Move move = kNoMove;
  };
  struct AskStep {
    dsfabric::GlobalPtr<MostVisitedLine> line;
    std::uint32_t cell;
    Step operator()(dsfabric::CallContext& call) const {
      return line.get(call.fabric)->step_from(cell);
    }
  };

  Step step_from(std::uint32_t cell) const {
    const Children* children = tree_.node(cell).children.load(std::memory_order_acquire);
    Step step;
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

  dsfabric::Thread& self_;
  Tree<G>& tree_;
  const Walker<G, Channel>& walker_;
  dsfabric::DistributedObject<MostVisitedLine> peers_;
};

}  // namespace mcts
