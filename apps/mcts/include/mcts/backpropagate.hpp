// SPDX-License-Identifier: MIT
// The way back up, as far as it goes within one process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "mcts/children.hpp"
#include "mcts/game.hpp"
#include "mcts/owners.hpp"
#include "mcts/policy.hpp"
#include "mcts/simulator.hpp"
#include "mcts/tree.hpp"

namespace mcts {

/// What a rollout brings to the next node on its way up; nobody: it was at the root.
struct Arrival {
  ParentRef to;
  Result result;
};

/// Adds a result to a child of a node of this process, then to that node as a child of its parent,
/// and so on as long as `here(rank)`. The points become those of who moves at each node, `full`
/// those of a visit that wins all. A proof goes up as far as it decides: a won child decides its
/// parent, a lost one when it was the last. `owners` may be null. Any thread, wait-free.
template <Game G, class Here>
Arrival backpropagate(const Tree<G>& tree, Arrival at, const typename OwnersOf<G>::Type* owners,
                      std::uint32_t full, const Policy& policy, Here&& here) noexcept {
  [[maybe_unused]] std::array<std::optional<typename OwnersOf<G>::Table>, 2> tables;
  do {
    Node<G>& node = tree.node(at.to.node.cell);
    // Acquire: pairs with who made the children.
    Children& children = *node.children.load(std::memory_order_acquire);
    const int mover = node.position.player();
    const auto decided = static_cast<Outcome>(at.result.decided);
    const Proof proof = decided == Outcome::kOngoing ? Proof::kNone
                        : decided == win_of(mover)   ? Proof::kWin
                                                     : Proof::kLoss;
    const std::uint32_t points = mover == 0 ? at.result.points : full - at.result.points;
    const bool all_lost = children.record(at.to.child, points, proof, policy);
    if constexpr (HasOwners<G>) {
      if (owners != nullptr) {
        auto& table = tables[static_cast<std::size_t>(mover)];
        if (!table) table.emplace(*owners, mover);
        children.learn(*table, at.to.child);
      }
    }
    const Outcome known = proof == Proof::kWin ? win_of(mover)
                          : all_lost           ? win_of(1 - mover)
                                               : Outcome::kOngoing;
    at.result.decided = static_cast<std::uint16_t>(known) & 3;
    at.to = node.parent();
  } while (!at.to.is_nobody() && here(at.to.node.rank));
  return at;
}

}  // namespace mcts
