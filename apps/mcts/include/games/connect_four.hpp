// SPDX-License-Identifier: MIT
// Connect Four on seven columns of six.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mcts/game.hpp"

namespace games {

/// Moves are columns, 0 to 6. Cells are bits, column by column with one empty row above each, so
/// that a line of four shows as shifted copies that meet. Source: Tromp, "John's Connect Four
/// Playground".
class ConnectFour {
 public:
  static constexpr int kColumns = 7;
  static constexpr int kRows = 6;
  static constexpr std::size_t kMaxMoves = kColumns;

  int player() const noexcept { return count_ & 1; }

  std::size_t moves(std::span<mcts::Move> into) const noexcept {
    std::size_t count = 0;
    for (int column = 0; column < kColumns; ++column) {
      if (!full(column)) into[count++] = static_cast<mcts::Move>(column);
    }
    return count;
  }

  /// The lowest empty cell of the column.
  void apply(mcts::Move column) noexcept {
    const std::uint64_t taken = stones_[0] | stones_[1];
    const std::uint64_t bottom = std::uint64_t{1} << column * kStep;
    const std::uint64_t cells = ((std::uint64_t{1} << kRows) - 1) << column * kStep;
    stones_[player()] |= ((taken & cells) + bottom) & cells;
    ++count_;
  }

  /// Only who moved last can have made a line.
  mcts::Outcome outcome() const noexcept {
    if (count_ > 0 && has_line(stones_[1 - player()])) return mcts::win_of(1 - player());
    return count_ == kColumns * kRows ? mcts::Outcome::kDraw : mcts::Outcome::kOngoing;
  }

  /// 0, 1, or -1 for an empty cell; row 0 is the lowest.
  int at(int column, int row) const noexcept {
    const int bit = column * kStep + row;
    return stones_[0] >> bit & 1 ? 0 : stones_[1] >> bit & 1 ? 1 : -1;
  }

 private:
  static constexpr int kStep = kRows + 1;

  bool full(int column) const noexcept {
    return (stones_[0] | stones_[1]) >> (column * kStep + kRows - 1) & 1;
  }
  static bool has_line(std::uint64_t stones) noexcept {
    for (const int step : {1, kStep, kStep - 1, kStep + 1}) {
      const std::uint64_t pairs = stones & stones >> step;
      if ((pairs & pairs >> 2 * step) != 0) return true;
    }
    return false;
  }

  std::uint64_t stones_[2] = {0, 0};
  std::uint32_t count_ = 0;
};

static_assert(mcts::Game<ConnectFour> && !mcts::HasPlayout<ConnectFour>);

}  // namespace games
