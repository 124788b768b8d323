// SPDX-License-Identifier: MIT
// All that a node knows of its children, in one block: scores, counts, links, moves.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <utility>

#include "mcts/fours.hpp"
#include "mcts/game.hpp"
#include "mcts/link.hpp"
#include "mcts/owners.hpp"
#include "mcts/policy.hpp"

namespace mcts {

/// What is known of a child for sure, seen by who is to move at its parent.
enum class Proof : std::uint8_t { kNone, kWin, kLoss };

/// Visits, and the points that playouts brought: 2 for a win, 1 for a draw. A visit counts when a
/// selection passes, its points when they come back: until then it looks lost (virtual loss).
struct Tally {
  std::uint32_t visits = 0;
  std::uint32_t points = 0;
  Proof proof = Proof::kNone;
};

/// Lies in memory of its own, with the arrays behind it:
///
///   Children | scores (8 bytes a child) | made (8, if it learns) | counts and link (16) | move (2)
///
/// where scores and sums of moves made are filled up to whole fours.
///
/// Shared by the threads of a process, without locks. Counts are exact; scores are what selection
/// compares, derived from the counts, and may for a moment be older than them. Counts and scores
/// are relaxed: they order nothing. Any thread, wait-free, except the constructor.
///
/// A block that learns also sums up for each move how playouts fared in which it was made at any
/// time (Policy::blend); its children are created best first. One that does not creates them in
/// random order, all of them before any is visited again. These sums are only estimates: an
/// addition may be lost when two threads make it at once.
class Children {
 public:
  static constexpr std::size_t bytes_for(std::size_t count, bool learns) noexcept {
    return sizeof(Children) + in_fours(count) * (sizeof(Score) + (learns ? sizeof(MadeSum) : 0)) +
           count * (sizeof(Child) + sizeof(Move));
  }
  /// Moves in random order, which decides between equals.
  static Children* make(void* memory, std::span<const Move> moves, bool learns,
                        Random& random) noexcept {
    Children* const block = new (memory) Children(static_cast<std::uint32_t>(moves.size()), learns);
    for (std::uint32_t i = 0; i < moves.size(); ++i) {
      new (block->scores() + i) Score(0);
      new (block->children() + i) Child;
      const std::uint32_t j = random.below(i + 1);
      Move* const into = block->move_array();
      new (into + i) Move(into[j]);
      into[j] = moves[i];
    }
    for (std::size_t i = moves.size(); i < in_fours(moves.size()); ++i) {
      new (block->scores() + i) Score(std::bit_cast<std::uint64_t>(kNobody));
    }
    for (std::size_t i = 0; learns && i < in_fours(moves.size()); ++i) {
      new (block->made() + i) MadeSum(0);
    }
    return block;
  }

  std::uint32_t count() const noexcept { return count_; }
  bool learns() const noexcept { return learns_ != 0; }
  Move move(std::uint32_t i) const noexcept { return move_array()[i]; }

  struct Selected {
    std::uint32_t child;
    /// Of the child, this one included: the one that gets 1 creates it.
    std::uint32_t visits;
  };
  /// A selection passes through a node with `visits` visits, this one included.
  Selected select(const Policy& policy, std::uint32_t visits) noexcept {
    const std::uint32_t untried = learns() ? count_ : take_next();
    const std::uint32_t i = untried < count_ ? untried : best(policy, visits);
    return {i, visit(i, policy)};
  }
  /// The child with the highest upper confidence bound.
  std::uint32_t best(const Policy& policy, std::uint32_t visits) const noexcept {
    const float factor = policy.factor(visits);
    // Copies, which the compiler keeps in registers.
    const auto scores_of_four = [from = scores()](std::uint32_t i) {
      return FourHalves<FourFloats>::of(from + i);
    };
    if (!learns()) {
      return highest(count_, [=](std::uint32_t i) {
        const auto [mean, inverse_root] = scores_of_four(i);
        return mean + factor * inverse_root;
      });
    }
    const auto blend = [=, from = made()](std::uint32_t i) {
      const auto [wins, visits_of_child] = scores_of_four(i);
      // Signed: faster, and no sum reaches 2^31.
      const auto [made_wins, times] = FourHalves<FourInts>::of(from + i);
      return policy.blend(wins, visits_of_child, __builtin_convertvector(made_wins, FourFloats),
                          __builtin_convertvector(times, FourFloats));
    };
    if (factor == 0) return highest(count_, blend);
    return highest(count_, [=](std::uint32_t i) {
      FourFloats bound = blend(i);
      for (std::uint32_t lane = 0; lane < 4; ++lane) {
        bound[lane] += factor / std::sqrt(scores_of_four(i).high[lane] + 1.0F);
      }
      return bound;
    });
  }

  /// A selection passes to child `i`. Returns its visits, this one included.
  std::uint32_t visit(std::uint32_t i, const Policy& policy) noexcept {
    Child& child = children()[i];
    const std::uint64_t now = child.tally.fetch_add(kVisit, std::memory_order_relaxed) + kVisit;
    rescore(i, now, policy);
    if (learns()) add_made(i, Made{policy.made_at_once, 0}.bits());
    return visits_of(now);
  }
  /// Points come back from child `i`, perhaps with a proof. True when this proves that all
  /// children are lost; then, once only.
  bool settle(std::uint32_t i, std::uint32_t points, Proof proof, const Policy& policy) noexcept {
    Child& child = children()[i];
    std::uint64_t now = child.tally.fetch_add(points, std::memory_order_relaxed) + points;
    bool all_lost = false;
    if (proof != Proof::kNone) [[unlikely]] {
      const std::uint64_t mark = proof == Proof::kWin ? kWon : kLost;
      const std::uint64_t before = child.tally.fetch_or(mark, std::memory_order_relaxed);
      now = before | mark;
      if ((before & mark) == 0 && proof == Proof::kLoss) {
        all_lost = lost_.fetch_add(1, std::memory_order_relaxed) + 1 == count_;
      }
    }
    rescore(i, now, policy);
    if (learns()) add_made(i, Made{policy.made_later, points / 2}.bits());
    return all_lost;
  }
  /// What playouts below child `chosen` tell of the moves of all others, by the table of who moves
  /// here.
  template <class Table>
  void learn(const Table& made, std::uint32_t chosen) noexcept {
    const Move* const moves = move_array();
    for (std::uint32_t i = 0; i < chosen; ++i) add_made(i, made[moves[i]]);
    for (std::uint32_t i = chosen + 1; i < count_; ++i) add_made(i, made[moves[i]]);
  }
  Tally tally(std::uint32_t i) const noexcept {
    const std::uint64_t now = children()[i].tally.load(std::memory_order_relaxed);
    return {visits_of(now), static_cast<std::uint32_t>(now),
            (now & kWon) != 0    ? Proof::kWin
            : (now & kLost) != 0 ? Proof::kLoss
                                 : Proof::kNone};
  }
  /// Of a block that learns.
  Made made_of(std::uint32_t i) const noexcept {
    return Made::of(made()[i].load(std::memory_order_relaxed));
  }

  /// Where child `i` is. Acquire: what its creator wrote there is visible, by release of resolve().
  Link link(std::uint32_t i) const noexcept {
    return Link::of(children()[i].link.load(std::memory_order_acquire));
  }
  /// Counts one more selection that waits for child `i`, unless it is there by now, which is
  /// returned instead.
  Link defer(std::uint32_t i) noexcept {
    std::atomic<std::uint64_t>& link = children()[i].link;
    std::uint64_t seen = link.load(std::memory_order_acquire);
    // Acquire on failure: as link(). Nothing is published on success.
    while (Link::of(seen).is_pending() &&
           !link.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire)) {
    }
    return Link::of(seen);
  }
  /// Child `i` is there. Returns how many selections have waited: they are the caller's now.
  std::uint64_t resolve(std::uint32_t i, Link to) noexcept {
    // Release: link() and defer() acquire.
    return Link::of(children()[i].link.exchange(to.bits(), std::memory_order_acq_rel)).waiting();
  }

 private:
  /// Two floats. Mean and 1 / sqrt(visits); in a block that learns, wins and visits.
  using Score = std::atomic<std::uint64_t>;
  using Parts = std::array<float, 2>;
  struct Child {
    std::atomic<std::uint64_t> tally{0};  // won | lost | visits, 30 bits | points, 32 bits
    std::atomic<std::uint64_t> link{Link::pending().bits()};
  };
  /// Made::bits().
  using MadeSum = std::atomic<std::uint64_t>;
  static constexpr std::uint64_t kVisit = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kWon = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kLost = std::uint64_t{1} << 62;
  static constexpr float kSure = 1e9F;
  /// Fills the last four up, and is never selected.
  static constexpr Parts kNobody{-std::numeric_limits<float>::infinity(), 0};

  Children(std::uint32_t count, bool learns) noexcept : count_(count), learns_(learns ? 1 : 0) {}

  /// The next child that nobody has created, or count() when all are taken.
  std::uint32_t take_next() noexcept {
    if (next_.load(std::memory_order_relaxed) >= count_) return count_;
    const std::uint32_t taken = next_.fetch_add(1, std::memory_order_relaxed);
    return taken < count_ ? taken : count_;
  }
  static std::uint32_t visits_of(std::uint64_t tally) noexcept {
    return static_cast<std::uint32_t>(tally >> 32) & 0x3fffffff;
  }
  Parts parts_of(std::uint32_t i) const noexcept {
    return std::bit_cast<Parts>(scores()[i].load(std::memory_order_relaxed));
  }
  void rescore(std::uint32_t i, std::uint64_t tally, const Policy& policy) noexcept {
    const auto visits = static_cast<float>(visits_of(tally));
    const float wins =
        static_cast<float>(static_cast<std::uint32_t>(tally)) / policy.points_a_visit;
    const float inverse = 1.0F / visits;
    Parts parts = learns() ? Parts{wins, visits} : Parts{wins * inverse, std::sqrt(inverse)};
    if ((tally & (kWon | kLost)) != 0) [[unlikely]] {
      parts = {(tally & kWon) != 0 ? kSure : -kSure, 0};
    }
    scores()[i].store(std::bit_cast<std::uint64_t>(parts), std::memory_order_relaxed);
  }
  void add_made(std::uint32_t i, std::uint64_t more) noexcept {
    MadeSum& sum = made()[i];
    // Not one operation: see the class.
    sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  Score* scores() noexcept { return reinterpret_cast<Score*>(this + 1); }
  const Score* scores() const noexcept { return reinterpret_cast<const Score*>(this + 1); }
  MadeSum* made() noexcept { return scores() + in_fours(count_); }
  const MadeSum* made() const noexcept { return scores() + in_fours(count_); }
  Child* children() noexcept {
    return reinterpret_cast<Child*>(made() + (learns() ? in_fours(count_) : 0));
  }
  const Child* children() const noexcept {
    return reinterpret_cast<const Child*>(made() + (learns() ? in_fours(count_) : 0));
  }
  Move* move_array() noexcept { return reinterpret_cast<Move*>(children() + count_); }
  const Move* move_array() const noexcept {
    return reinterpret_cast<const Move*>(children() + count_);
  }

  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> lost_{0};
  std::uint32_t count_;
  std::uint32_t learns_;
};

}  // namespace mcts
