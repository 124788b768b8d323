// SPDX-License-Identifier: MIT
// All that a node knows of its children, in one block: scores, counts, links, moves.
#pragma once

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

#include "mcts/game.hpp"
#include "mcts/link.hpp"

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
///   Children | scores (8 bytes a child) | counts and link (16) | move (2)
///
/// Shared by the threads of a process, without locks. Counts are exact; scores are what selection
/// compares, derived from the counts, and may for a moment be older than them. Counts and scores
/// are relaxed: they order nothing. Any thread, wait-free, except the constructor.
class Children {
 public:
  static constexpr std::size_t bytes_for(std::size_t count) noexcept {
    return sizeof(Children) + count * (sizeof(Score) + sizeof(Child) + sizeof(Move));
  }
  /// Moves in random order, which is the order in which children are created.
  static Children* make(void* memory, std::span<const Move> moves, Random& random) noexcept {
    Children* const block = new (memory) Children(static_cast<std::uint32_t>(moves.size()));
    for (std::uint32_t i = 0; i < moves.size(); ++i) {
      new (block->scores() + i) Score(0);
      new (block->children() + i) Child;
      const std::uint32_t j = random.below(i + 1);
      Move* const into = block->move_array();
      new (into + i) Move(into[j]);
      into[j] = moves[i];
    }
    return block;
  }

  std::uint32_t count() const noexcept { return count_; }
  Move move(std::uint32_t i) const noexcept { return move_array()[i]; }

  /// The next child that nobody has created, or count() when all are taken.
  std::uint32_t take_next() noexcept {
    if (next_.load(std::memory_order_relaxed) >= count_) return count_;
    const std::uint32_t taken = next_.fetch_add(1, std::memory_order_relaxed);
    return taken < count_ ? taken : count_;
  }
  /// The child with the highest upper confidence bound, at a node with `visits` visits.
  std::uint32_t best(float exploration, std::uint32_t visits) const noexcept {
    const float factor = exploration * std::sqrt(std::log(static_cast<float>(visits) + 1.0F));
    const Score* const all = scores();
    // Several chains of comparisons, since each depends on the one before.
    constexpr std::uint32_t kChains = 4;
    std::array<float, kChains> high;
    std::array<std::uint32_t, kChains> at{0, 0, 0, 0};
    high.fill(-std::numeric_limits<float>::infinity());
    std::uint32_t i = 0;
    for (; i + kChains <= count_; i += kChains) {
      for (std::uint32_t chain = 0; chain < kChains; ++chain) {
        const float bound = upper(all[i + chain], factor);
        at[chain] = bound > high[chain] ? i + chain : at[chain];
        high[chain] = bound > high[chain] ? bound : high[chain];
      }
    }
    for (; i < count_; ++i) {
      const float bound = upper(all[i], factor);
      if (bound > high[0]) high[0] = bound, at[0] = i;
    }
    for (std::uint32_t chain = 1; chain < kChains; ++chain) {
      if (high[chain] > high[0]) high[0] = high[chain], at[0] = at[chain];
    }
    return at[0];
  }

  /// A selection passes to child `i`. Returns its visits, this one included.
  std::uint32_t visit(std::uint32_t i, float points_a_visit) noexcept {
    Child& child = children()[i];
    const std::uint64_t now = child.tally.fetch_add(kVisit, std::memory_order_relaxed) + kVisit;
    rescore(i, now, points_a_visit);
    return visits_of(now);
  }
  /// Points come back from child `i`, perhaps with a proof. True when this proves that all
  /// children are lost; then, once only.
  bool settle(std::uint32_t i, std::uint32_t points, Proof proof, float points_a_visit) noexcept {
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
    rescore(i, now, points_a_visit);
    return all_lost;
  }
  Tally tally(std::uint32_t i) const noexcept {
    const std::uint64_t now = children()[i].tally.load(std::memory_order_relaxed);
    return {visits_of(now), static_cast<std::uint32_t>(now),
            (now & kWon) != 0    ? Proof::kWin
            : (now & kLost) != 0 ? Proof::kLoss
                                 : Proof::kNone};
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
  /// Mean and 1 / sqrt(visits), two floats.
  using Score = std::atomic<std::uint64_t>;
  struct Child {
    std::atomic<std::uint64_t> tally{0};  // won | lost | visits, 30 bits | points, 32 bits
    std::atomic<std::uint64_t> link{Link::pending().bits()};
  };
  static constexpr std::uint64_t kVisit = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kWon = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kLost = std::uint64_t{1} << 62;

  explicit Children(std::uint32_t count) noexcept : count_(count) {}

  static std::uint32_t visits_of(std::uint64_t tally) noexcept {
    return static_cast<std::uint32_t>(tally >> 32) & 0x3fffffff;
  }
  static float upper(const Score& score, float factor) noexcept {
    const auto parts = std::bit_cast<std::array<float, 2>>(score.load(std::memory_order_relaxed));
    return parts[0] + factor * parts[1];
  }
  void rescore(std::uint32_t i, std::uint64_t tally, float points_a_visit) noexcept {
    const float inverse = 1.0F / static_cast<float>(visits_of(tally));
    std::array<float, 2> parts{
        static_cast<float>(static_cast<std::uint32_t>(tally)) * inverse / points_a_visit,
        std::sqrt(inverse)};
    if ((tally & (kWon | kLost)) != 0) [[unlikely]] {
      parts = {(tally & kWon) != 0 ? kSure : -kSure, 0};
    }
    scores()[i].store(std::bit_cast<std::uint64_t>(parts), std::memory_order_relaxed);
  }
  static constexpr float kSure = 1e6F;

  Score* scores() noexcept { return reinterpret_cast<Score*>(this + 1); }
  const Score* scores() const noexcept { return reinterpret_cast<const Score*>(this + 1); }
  Child* children() noexcept { return reinterpret_cast<Child*>(scores() + count_); }
  const Child* children() const noexcept {
    return reinterpret_cast<const Child*>(scores() + count_);
  }
  Move* move_array() noexcept { return reinterpret_cast<Move*>(children() + count_); }
  const Move* move_array() const noexcept {
    return reinterpret_cast<const Move*>(children() + count_);
  }

  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> lost_{0};
  std::uint32_t count_;
  std::uint32_t unused_ = 0;
};

}  // namespace mcts
