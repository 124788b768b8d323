// SPDX-License-Identifier: MIT
// Solves Hex on small boards exactly.
#pragma once

#include <bit>
#include <cstdint>
#include <set>
#include <unordered_map>

#include "games/hex_kernel.hpp"
#include "mcts/game.hpp"

namespace support {

/// Depth first, every position once. When a reply refutes a move, only moves into the cells that
/// the reply's win needs are worth trying next (must-play). Source: Hayward et al., "Solving 7x7
/// Hex: Virtual connections and game-state reduction".
template <std::size_t kSize>
class HexSolver {
  static_assert(kSize <= 4, "5 x 5 takes minutes");
  using Kernel = games::HexKernel<kSize>;

 public:
  /// Cells as bits, row by row.
  using Cells = std::uint32_t;

  /// Whether `player`, who is to move and has the stones `mine`, wins against `others`.
  bool wins(Cells mine, Cells others, int player) { return solve(mine, others, player).won; }
  bool move_wins(Cells mine, Cells others, int player, mcts::Move move) {
    const Cells after = mine | Cells{1} << move;
    return joined(after, player) || !wins(others, after, 1 - player);
  }
  std::set<mcts::Move> winning_moves(Cells mine, Cells others, int player) {
    std::set<mcts::Move> winning;
    for (std::size_t move = 0; move < Kernel::kCells; ++move) {
      const auto each = static_cast<mcts::Move>(move);
      if (((mine | others) >> move & 1) == 0 && move_wins(mine, others, player, each)) {
        winning.insert(each);
      }
    }
    return winning;
  }

 private:
  struct Value {
    bool won;
    /// Empty cells that the winner's play needs; the loser may have all others.
    Cells carrier;
  };
  static constexpr Cells kAll = static_cast<Cells>((std::uint64_t{1} << Kernel::kCells) - 1);

  static bool joined(Cells stones, int player) {
    typename Kernel::Cells cells;
    cells.words[0] = stones;
    return Kernel::joined(cells, player);
  }

  Value solve(Cells mine, Cells others, int player) {
    const Cells free = kAll & ~(mine | others);
    if (!joined(mine | free, player)) return {false, 0};
    const std::uint64_t key = std::uint64_t{mine} | std::uint64_t{others} << 25 |
                              static_cast<std::uint64_t>(player) << 50;
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    Value value{false, 0};
    for (Cells worth = free; worth != 0 && !value.won;) {
      const Cells move = best_of(worth);
      worth &= ~move;
      if (joined(mine | move, player)) {
        value = {true, move};
        break;
      }
      const Value reply = solve(others, mine | move, 1 - player);
      if (!reply.won) {
        value = {true, reply.carrier | move};
      } else {
        worth &= reply.carrier;
        value.carrier |= reply.carrier;
      }
    }
    return known_[key] = value;
  }
  /// The middle first.
  static Cells best_of(Cells cells) {
    constexpr std::size_t kMiddle = Kernel::kCells / 2;
    for (std::size_t step = 0; step <= kMiddle; ++step) {
      for (const std::size_t cell : {kMiddle - step, kMiddle + step}) {
        if (cell < Kernel::kCells && (cells >> cell & 1) != 0) return Cells{1} << cell;
      }
    }
    return cells & -cells;
  }

  std::unordered_map<std::uint64_t, Value> known_;
};

}  // namespace support
