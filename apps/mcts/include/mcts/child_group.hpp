// SPDX-License-Identifier: MIT
// Eight children whose counts lie together, and what selection compares of them.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>

#include "mcts/arena.hpp"
#include "mcts/child.hpp"
#include "mcts/policy.hpp"
#include "mcts/simd.hpp"

namespace mcts {

/// Made::bits(), summed up.
using MadeSum = std::atomic<std::uint64_t>;

/// The bound of a child that is won for sure; the opposite of one that is lost.
inline constexpr float kSureBound = 1e9F;

/// Children that got memory together, when the first of them was tried. Any thread, wait-free.
class alignas(kCell) ChildGroup {
 public:
  static constexpr std::uint32_t kSize = 8;

  Child& operator[](std::uint32_t i) noexcept { return children_[i]; }
  const Child& operator[](std::uint32_t i) const noexcept { return children_[i]; }

  /// Of four children from `first` on in a block that learns: their worth by their own results and
  /// by playouts in which their moves were made, `made` of each.
  FourFloats learned_bounds(std::uint32_t first, const MadeSum* made,
                            const Policy& policy) const noexcept {
    using FourUnsigned = std::uint32_t __attribute__((vector_size(16)));
    const auto [points, marked] =
        FourHalves<FourInts>::of([&](std::uint32_t k) { return children_[first + k].bits(); });
    // The others are converted as signed numbers, which is faster; only points may reach 2^31.
    const FourFloats wins =
        __builtin_convertvector(FourUnsigned(points), FourFloats) * policy.wins_a_point;
    const auto [made_wins, times] = FourHalves<FourInts>::of(
        [=](std::uint32_t k) { return made[k].load(std::memory_order_relaxed); });
    const FourFloats bounds =
        policy.blend(wins, floats(marked & kMaxVisits), floats(made_wins), floats(times));
    const FourFloats sure = FourFloats{} + kSureBound;
    const FourInts won = marked < 0;
    const FourInts lost = marked > kMaxVisits;
    return won ? sure : lost ? -sure : bounds;
  }
  /// What exploration adds to that.
  FourFloats explored(std::uint32_t first, float factor) const noexcept {
    FourFloats more;
    for (std::uint32_t k = 0; k < 4; ++k) {
      const auto visits = static_cast<float>(children_[first + k].tally().visits);
      more[k] = factor / std::sqrt(visits + 1.0F);
    }
    return more;
  }

 private:
  static FourFloats floats(FourInts ints) noexcept {
    return __builtin_convertvector(ints, FourFloats);
  }
  static constexpr auto kMaxVisits = static_cast<std::int32_t>(Tally::kMaxVisits);
  static_assert(Tally::kWon == std::uint32_t{1} << 31 && Tally::kLost > Tally::kMaxVisits);

  std::array<Child, kSize> children_;
};

/// A group of a block that does not learn. It also keeps what selection compares: derived from the
/// counts, and for a moment perhaps older than them. Any thread, wait-free.
class ScoredGroup : public ChildGroup {
 public:
  /// After each change of a child's counts.
  void rescore(std::uint32_t i, const Tally& tally, const Policy& policy) noexcept {
    const float inverse = 1.0F / static_cast<float>(tally.visits);
    const float wins = static_cast<float>(tally.points) * policy.wins_a_point;
    Score score{wins * inverse, std::sqrt(inverse)};
    if (tally.proof != Proof::kNone) [[unlikely]] {
      score = {tally.proof == Proof::kWin ? kSureBound : -kSureBound, 0};
    }
    scores_[i].store(std::bit_cast<std::uint64_t>(score), std::memory_order_relaxed);
  }
  /// Of four children from `first` on.
  FourFloats bounds(std::uint32_t first, float factor) const noexcept {
    const auto [mean, inverse_root] = FourHalves<FourFloats>::of(
        [&](std::uint32_t k) { return scores_[first + k].load(std::memory_order_relaxed); });
    return mean + factor * inverse_root;
  }

 private:
  /// Mean, and 1 / sqrt(visits).
  using Score = std::array<float, 2>;

  std::array<std::atomic<std::uint64_t>, kSize> scores_{};
};

}  // namespace mcts
