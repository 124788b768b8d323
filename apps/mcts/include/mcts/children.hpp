// SPDX-License-Identifier: MIT
// All that a node knows of its children: counts and links of those that were tried, moves of all.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>

#include "mcts/arena.hpp"
#include "mcts/child.hpp"
#include "mcts/child_group.hpp"
#include "mcts/game.hpp"
#include "mcts/owners.hpp"
#include "mcts/policy.hpp"
#include "mcts/simd.hpp"

namespace mcts {

/// Lies in memory of its own, with these arrays behind it:
///
///   Children | groups (8 bytes for 8 children) | made (8 a child, if it learns) | move (2 a child)
///
/// Most nodes try few of their children, so memory is taken by groups: 128 bytes, or 192 if the
/// block does not learn. Shared by the threads of a process, without locks. Any thread, wait-free,
/// except make().
///
/// A block that learns sums up for each move how playouts fared in which it was made at any time
/// (Policy::blend); its children are created best first. One that does not creates them in random
/// order, all of them before any is visited again. These sums are only estimates: an addition may
/// be lost when two threads make it at once.
class Children {
 public:
  static constexpr std::size_t bytes_for(std::size_t count, bool learns) noexcept {
    const std::size_t groups = groups_for(count);
    return sizeof(Children) + groups * sizeof(Group) +
           (learns ? groups * ChildGroup::kSize * sizeof(MadeSum) : 0) + count * sizeof(Move);
  }
  /// Moves in random order, which decides between equals. In memory of bytes_for().
  static Children* make(void* memory, std::span<const Move> moves, bool learns,
                        Random& random) noexcept {
    Children* const block = new (memory) Children(static_cast<std::uint32_t>(moves.size()), learns);
    const std::size_t groups = groups_for(moves.size());
    for (std::size_t i = 0; i < groups; ++i) new (block->groups() + i) Group(untried());
    for (std::size_t i = 0; learns && i < groups * ChildGroup::kSize; ++i) {
      new (block->made() + i) MadeSum(0);
    }
    for (std::uint32_t i = 0; i < moves.size(); ++i) {
      const std::uint32_t j = random.below(i + 1);
      Move* const into = block->move_array();
      new (into + i) Move(into[j]);
      into[j] = moves[i];
    }
    return block;
  }

  std::uint32_t count() const noexcept { return count_; }
  bool learns() const noexcept { return learns_ != 0; }
  Move move(std::uint32_t i) const noexcept { return move_array()[i]; }

  struct Selected {
    std::uint32_t child;
    /// Of the child, this one included: the one that gets 1 creates it. 0: there is no memory.
    std::uint32_t visits;
  };
  /// A selection passes through a node with `visits` visits, this one included. Without memory for
  /// a child that was never tried, one of the others is taken.
  Selected select(const Policy& policy, std::uint32_t visits, Slab& slab) noexcept {
    const std::uint32_t next = learns() ? count_ : take_next();
    std::uint32_t i = next < count_ ? next : best(policy, visits);
    std::uint32_t visits_of_child = visit(i, policy, slab);
    if (visits_of_child == 0) [[unlikely]] {
      i = best(policy, visits, true);
      visits_of_child = visit(i, policy, slab);
    }
    return {i, visits_of_child};
  }
  /// The child with the highest upper confidence bound. `with_memory`: of those that have some.
  std::uint32_t best(const Policy& policy, std::uint32_t visits,
                     bool with_memory = false) const noexcept {
    const float factor = policy.factor(visits);
    if (!learns()) {
      return best_of(with_memory, [=](const ChildGroup& group, std::uint32_t i) {
        return static_cast<const ScoredGroup&>(group).bounds(i % ChildGroup::kSize, factor);
      });
    }
    return best_of(with_memory, [=, made = made()](const ChildGroup& group, std::uint32_t i) {
      const std::uint32_t first = i % ChildGroup::kSize;
      const FourFloats bounds = group.learned_bounds(first, made + i, policy);
      return factor == 0 ? bounds : bounds + group.explored(first, factor);
    });
  }

  /// A selection passes to child `i`. Returns its visits, this one included; 0: there is no memory
  /// for it.
  std::uint32_t visit(std::uint32_t i, const Policy& policy, Slab& slab) noexcept {
    ChildGroup* const group = group_for(i, slab);
    if (group == nullptr) [[unlikely]]
      return 0;
    const Tally tally = (*group)[i % ChildGroup::kSize].visit();
    changed(*group, i, tally, policy, {policy.made_at_once, 0});
    return tally.visits;
  }
  /// Points come back from child `i`, perhaps with a proof. True when this proves that all
  /// children are lost; then, once only.
  bool record(std::uint32_t i, std::uint32_t points, Proof proof, const Policy& policy) noexcept {
    ChildGroup& group = group_of(i);
    const auto [tally, newly_lost] = group[i % ChildGroup::kSize].record(points, proof);
    changed(group, i, tally, policy, {policy.made_later, points / 2});
    return newly_lost && lost_.fetch_add(1, std::memory_order_relaxed) + 1 == count_;
  }
  /// What playouts below child `chosen` tell of the moves of all others, by the table of who moves
  /// here.
  template <class Table>
  void learn(const Table& made, std::uint32_t chosen) noexcept {
    const Move* const moves = move_array();
    for (std::uint32_t i = 0; i < chosen; ++i) add_made(i, made[moves[i]]);
    for (std::uint32_t i = chosen + 1; i < count_; ++i) add_made(i, made[moves[i]]);
  }

  Tally tally(std::uint32_t i) const noexcept { return child(i).tally(); }
  /// Of a block that learns.
  Made made_of(std::uint32_t i) const noexcept {
    return Made::of(made()[i].load(std::memory_order_relaxed));
  }
  Link link(std::uint32_t i) const noexcept { return child(i).link(); }
  /// Child::defer and Child::resolve, of a child that was visited.
  Link defer(std::uint32_t i) noexcept { return child(i).defer(); }
  std::uint64_t resolve(std::uint32_t i, Link to) noexcept { return child(i).resolve(to); }

 private:
  using Group = std::atomic<ChildGroup*>;

  Children(std::uint32_t count, bool learns) noexcept : count_(count), learns_(learns ? 1 : 0) {}

  static constexpr std::size_t groups_for(std::size_t count) noexcept {
    return (count + ChildGroup::kSize - 1) / ChildGroup::kSize;
  }
  /// Stands for all groups that have no memory yet; never written to.
  static ChildGroup* untried() noexcept {
    static constinit ScoredGroup none;
    return &none;
  }

  /// The next child that nobody has created, or count() when all are taken.
  std::uint32_t take_next() noexcept {
    if (next_.load(std::memory_order_relaxed) >= count_) return count_;
    const std::uint32_t taken = next_.fetch_add(1, std::memory_order_relaxed);
    return taken < count_ ? taken : count_;
  }
  ChildGroup& group_of(std::uint32_t i) const noexcept {
    // Acquire: pairs with who made the group.
    return *groups()[i / ChildGroup::kSize].load(std::memory_order_acquire);
  }
  Child& child(std::uint32_t i) const noexcept { return group_of(i)[i % ChildGroup::kSize]; }
  /// The group of child `i`, made now if there is none; nullptr without memory.
  ChildGroup* group_for(std::uint32_t i, Slab& slab) noexcept {
    ChildGroup* there = &group_of(i);
    if (there != untried()) [[likely]]
      return there;
    const std::size_t bytes = learns() ? sizeof(ChildGroup) : sizeof(ScoredGroup);
    void* const memory = slab.take(bytes);
    if (memory == nullptr) return nullptr;
    ChildGroup* const made = learns() ? new (memory) ChildGroup : new (memory) ScoredGroup;
    // Release: others acquire the group. Acquire on failure: another thread's.
    if (groups()[i / ChildGroup::kSize].compare_exchange_strong(there, made,
                                                                std::memory_order_acq_rel)) {
      return made;
    }
    slab.undo(bytes);
    return there;
  }

  /// bound(group, i) gives the bounds of four children from `i` on, which are in that group.
  template <class Bound>
  [[gnu::always_inline]] std::uint32_t best_of(bool with_memory, Bound bound) const noexcept {
    const Group* const groups = this->groups();
    const ChildGroup* const out = with_memory ? untried() : nullptr;
    return highest(count_, [=](std::uint32_t i) {
      const ChildGroup* const group = groups[i / ChildGroup::kSize].load(std::memory_order_acquire);
      if (group == out) [[unlikely]]
        return FourFloats{} - std::numeric_limits<float>::infinity();
      return bound(*group, i);
    });
  }
  /// After each change of a child's counts.
  void changed(ChildGroup& group, std::uint32_t i, const Tally& tally, const Policy& policy,
               const Made& made) noexcept {
    if (learns()) return add_made(i, made.bits());
    static_cast<ScoredGroup&>(group).rescore(i % ChildGroup::kSize, tally, policy);
  }
  void add_made(std::uint32_t i, std::uint64_t more) noexcept {
    MadeSum& sum = made()[i];
    // Not one operation: see the class.
    sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  Group* groups() const noexcept {
    return reinterpret_cast<Group*>(const_cast<Children*>(this) + 1);
  }
  MadeSum* made() const noexcept {
    return reinterpret_cast<MadeSum*>(groups() + groups_for(count_));
  }
  Move* move_array() const noexcept {
    return reinterpret_cast<Move*>(made() +
                                   (learns() ? groups_for(count_) * ChildGroup::kSize : 0));
  }

  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> lost_{0};
  std::uint32_t count_;
  std::uint32_t learns_;
};

}  // namespace mcts
