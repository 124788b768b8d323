// SPDX-License-Identifier: MIT
// What a node knows of one child for sure: counts and link.
#pragma once

#include <atomic>
#include <cstdint>

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

  /// Of one word: won | lost | visits, 30 bits || points, 32 bits.
  static constexpr Tally of(std::uint64_t bits) noexcept {
    const auto upper = static_cast<std::uint32_t>(bits >> 32);
    return {upper & kMaxVisits, static_cast<std::uint32_t>(bits),
            (upper & kWon) != 0    ? Proof::kWin
            : (upper & kLost) != 0 ? Proof::kLoss
                                   : Proof::kNone};
  }
  static constexpr std::uint32_t kWon = std::uint32_t{1} << 31;
  static constexpr std::uint32_t kLost = std::uint32_t{1} << 30;
  static constexpr std::uint32_t kMaxVisits = kLost - 1;
};

/// Shared by the threads of a process. Counts are relaxed: they order nothing. Any thread,
/// wait-free.
class Child {
 public:
  /// A selection passes. Returns what is known then, this visit included.
  Tally visit() noexcept {
    return Tally::of(tally_.fetch_add(kVisit, std::memory_order_relaxed) + kVisit);
  }
  struct Settled {
    Tally tally;
    /// It is lost, and was not known to be.
    bool newly_lost;
  };
  /// Points come back, perhaps with a proof.
  Settled record(std::uint32_t points, Proof proof) noexcept {
    std::uint64_t now = tally_.fetch_add(points, std::memory_order_relaxed) + points;
    if (proof == Proof::kNone) [[likely]]
      return {Tally::of(now), false};
    const std::uint64_t mark = std::uint64_t{proof == Proof::kWin ? Tally::kWon : Tally::kLost}
                               << 32;
    const std::uint64_t before = tally_.fetch_or(mark, std::memory_order_relaxed);
    return {Tally::of(before | mark), proof == Proof::kLoss && (before & mark) == 0};
  }
  Tally tally() const noexcept { return Tally::of(bits()); }
  /// The word that Tally::of reads.
  std::uint64_t bits() const noexcept { return tally_.load(std::memory_order_relaxed); }

  /// Where it is. Acquire: what its creator wrote there is visible, by release of resolve().
  Link link() const noexcept { return Link::of(link_.load(std::memory_order_acquire)); }
  /// Counts one more selection that waits for it, unless it is there by now, which is returned
  /// instead.
  Link defer() noexcept {
    std::uint64_t seen = link_.load(std::memory_order_acquire);
    // Acquire on failure: as link(). Nothing is published on success.
    while (Link::of(seen).is_pending() &&
           !link_.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire)) {
    }
    return Link::of(seen);
  }
  /// It is there. Returns how many selections have waited: they are the caller's now.
  std::uint64_t resolve(Link to) noexcept {
    // Release: link() and defer() acquire.
    return Link::of(link_.exchange(to.bits(), std::memory_order_acq_rel)).waiting();
  }

 private:
  static constexpr std::uint64_t kVisit = std::uint64_t{1} << 32;

  std::atomic<std::uint64_t> tally_{0};
  std::atomic<std::uint64_t> link_{Link::pending().bits()};
};

}  // namespace mcts
