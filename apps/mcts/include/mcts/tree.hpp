// SPDX-License-Identifier: MIT
// One process' part of the tree, shared by its workers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "mcts/arena.hpp"
#include "mcts/children.hpp"
#include "mcts/game.hpp"
#include "mcts/link.hpp"

namespace mcts {

/// The way back from a node: its parent, and which of its children it is.
struct ParentRef {
  NodeRef node;
  std::uint16_t child = 0;

  static constexpr std::uint16_t kNobody = 0xffff;
  static constexpr ParentRef of_root() noexcept { return {{0, kNobody}, 0}; }
  constexpr bool is_nobody() const noexcept { return node.rank == kNobody; }
};

/// A position in the tree. Everything but `own` and `children` is fixed when it is made.
template <Game G>
struct Node {
  G position;
  /// Made at the second visit. Release when set, acquire when read: the block's contents.
  std::atomic<Children*> children{nullptr};
  std::uint32_t parent_cell;
  std::uint16_t parent_rank;
  std::uint16_t parent_child;
  /// Rollouts that ended here rather than at a descendant. Relaxed: only counted.
  std::atomic<std::uint32_t> own{0};
  std::uint16_t owner;
  Outcome outcome;

  Node(const G& at, ParentRef parent, std::uint16_t owner_rank, Outcome how) noexcept
      : position(at),
        parent_cell(parent.node.cell),
        parent_rank(parent.node.rank),
        parent_child(parent.child),
        owner(owner_rank),
        outcome(how) {}
  ParentRef parent() const noexcept { return {{parent_cell, parent_rank}, parent_child}; }
};

/// Memory of the tree and how to make things in it. Any thread, wait-free, except the constructor
/// and reset().
template <Game G>
class Tree {
 public:
  /// Throws Error when there is no address space. Setup only.
  explicit Tree(std::size_t memory_limit) : arena_(memory_limit) {}

  Arena& arena() noexcept { return arena_; }
  const Arena& arena() const noexcept { return arena_; }
  /// Empty again. Setup only.
  void reset() noexcept {
    arena_.reset();
    proven_.store(Outcome::kOngoing, std::memory_order_relaxed);
  }
  /// Who wins at the root for sure, as far as known.
  void prove(Outcome outcome) noexcept { proven_.store(outcome, std::memory_order_relaxed); }
  Outcome proven() const noexcept { return proven_.load(std::memory_order_relaxed); }

  Node<G>& node(std::uint32_t cell) const noexcept {
    return *std::launder(reinterpret_cast<Node<G>*>(arena_.at(cell)));
  }
  std::uint32_t cell_of(const Node<G>& node) const noexcept { return arena_.cell_of(&node); }

  /// A node without children, or nullptr at the limit.
  Node<G>* make_node(Slab& slab, const G& position, ParentRef parent, std::uint16_t owner,
                     Outcome outcome) noexcept {
    void* const memory = slab.take(sizeof(Node<G>));
    return memory == nullptr ? nullptr : new (memory) Node<G>(position, parent, owner, outcome);
  }
  /// The children of a node with `visits` visits, made now if nobody has; nullptr: there is no
  /// memory for them, or better use of it.
  Children* children_of(Node<G>& node, std::uint32_t visits, Slab& slab, bool learns,
                        Random& random) noexcept {
    Children* there = node.children.load(std::memory_order_acquire);
    if (there != nullptr) [[likely]]
      return there;
    if (visits < expand_at() && !node.parent().is_nobody()) return nullptr;
    std::array<Move, G::kMaxMoves> moves;
    const std::size_t count = node.position.moves(moves);
    const std::size_t bytes = Children::bytes_for(count, learns);
    static_assert(Children::bytes_for(G::kMaxMoves, true) <= Arena::kSlab);
    void* const memory = slab.take(bytes);
    if (memory == nullptr) return nullptr;
    Children* const made = Children::make(memory, std::span(moves).first(count), learns, random);
    // Release: others acquire `children`. Acquire on failure: another thread's block.
    if (node.children.compare_exchange_strong(there, made, std::memory_order_acq_rel)) return made;
    slab.undo(bytes);
    return there;
  }

 private:
  /// Visits at which a node gets children. More and more once half of the memory is used, so that
  /// what is left goes to nodes that most rollouts pass.
  std::uint32_t expand_at() const noexcept {
    constexpr std::size_t kDoublings = 8;
    const std::size_t half = arena_.limit() / 2;
    const std::size_t used = arena_.used();
    if (used <= half) return 2;
    return std::uint32_t{2} << (used - half) * kDoublings / (arena_.limit() - half);
  }

  Arena arena_;
  std::atomic<Outcome> proven_{Outcome::kOngoing};
};

}  // namespace mcts
