// SPDX-License-Identifier: MIT
// Connections and random completions on a Hex board of a size known to the compiler.
#pragma once

#include <cstddef>
#include <cstdint>

#include "games/bits.hpp"
#include "mcts/random.hpp"

namespace games {

/// Cells are numbered row by row from the top left. A cell touches its row neighbours, (row + 1,
/// column), (row + 1, column - 1) and the two opposite ones. Player 0 joins top and bottom, player
/// 1 left and right.
template <std::size_t kSize>
struct HexKernel {
  static constexpr std::size_t kCells = kSize * kSize;
  using Cells = Bits<(kCells + 63) / 64>;

  static constexpr Cells line(std::size_t first, std::size_t step, std::size_t count) noexcept {
    Cells cells;
    for (std::size_t i = 0; i < count; ++i) cells.set(first + i * step);
    return cells;
  }
  static constexpr Cells kBoard = line(0, 1, kCells);
  static constexpr Cells kTop = line(0, 1, kSize);
  static constexpr Cells kBottom = line(kCells - kSize, 1, kSize);
  static constexpr Cells kLeft = line(0, kSize, kSize);
  static constexpr Cells kRight = line(kSize - 1, kSize, kSize);

  /// Whether stones join the `player`'s two edges: grows what is joined to one edge until it
  /// reaches the other or grows no more.
  static constexpr bool joined(const Cells& stones, int player) noexcept {
    const Cells& goal = player == 0 ? kBottom : kRight;
    Cells reached = stones & (player == 0 ? kTop : kLeft);
    for (;;) {
      const Cells grown = grow(stones, grow(stones, reached));
      if ((grown & goal).any()) return true;
      if (grown == reached) return false;
      reached = grown;
    }
  }

  /// Fills the `empty` cells at random, as if both moved in turn from here, `player` first, and
  /// tells who wins. `first` are the stones of player 0, then and now. Every split of the cells is
  /// equally likely.
  static int winner_of_random_fill(Cells& first, const Cells& empty, int player,
                                   mcts::Random& random) noexcept {
    const int free = empty.count();
    const int wanted = player == 0 ? (free + 1) / 2 : free / 2;
    // A fair coin for each cell, then cells chosen at random change sides until the number is
    // right: given the number, all splits are equally likely before, so they are afterwards.
    Cells given;
    for (std::size_t i = 0; i < given.words.size(); ++i) given.words[i] = random();
    given = given & empty;
    int surplus = given.count() - wanted;
    const Cells rest = empty & ~given;
    const Cells& source = surplus > 0 ? given : rest;
    Cells moved;
    surplus = surplus < 0 ? -surplus : surplus;
    while (surplus > 0) {
      const std::uint64_t two = random();
      for (const std::uint64_t half : {two & 0xffffffff, two >> 32}) {
        const std::size_t cell = half * kCells >> 32;
        const bool take = surplus > 0 && source.test(cell) && !moved.test(cell);
        moved.words[cell / 64] |= std::uint64_t{take} << cell % 64;
        surplus -= take;
      }
    }
    for (std::size_t i = 0; i < given.words.size(); ++i) {
      first.words[i] |= given.words[i] ^ moved.words[i];
    }
    return joined(first, 0) ? 0 : 1;
  }

 private:
  /// `reached` and the stones that touch it.
  static constexpr Cells grow(const Cells& stones, const Cells& reached) noexcept {
    if constexpr (kSize == 1) {
      return reached;
    } else {
      const Cells east = reached.template up<1>() & ~kLeft;
      const Cells west = reached.template down<1>() & ~kRight;
      return stones & (reached | east | west | (reached | west).template up<kSize>() |
                       (reached | east).template down<kSize>());
    }
  }
};

}  // namespace games
