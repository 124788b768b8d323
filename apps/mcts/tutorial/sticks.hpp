// SPDX-License-Identifier: MIT
// The game of the tutorial: take one, two or three sticks; who takes the last one wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mcts/game.hpp"

namespace tutorial {

class Sticks {
 public:
  static constexpr std::size_t kMaxMoves = 3;

  explicit Sticks(std::uint32_t sticks = 21) : left_(sticks) {}

  int player() const { return player_; }
  std::size_t moves(std::span<mcts::Move> into) const {
    std::size_t count = 0;
    for (mcts::Move take = 1; take <= 3 && take <= left_; ++take) into[count++] = take;
    return count;
  }
  void apply(mcts::Move take) {
    left_ -= take;
    player_ = 1 - player_;
  }
  mcts::Outcome outcome() const {
    return left_ > 0 ? mcts::Outcome::kOngoing : mcts::win_of(1 - player_);
  }

 private:
  std::uint32_t left_;
  int player_ = 0;
};

static_assert(mcts::Game<Sticks>);

}  // namespace tutorial
