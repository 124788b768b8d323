// SPDX-License-Identifier: MIT
// A game against a person in the terminal.
#pragma once

#include <iosfwd>

#include "hex/engine.hpp"

namespace hex {

struct PlayOptions {
  std::size_t size = 11;
  bool swap_rule = false;
  /// Which side the person has: 0 moves first.
  int person = 0;
  bool colour = false;
  mcts::Settings settings;
  mcts::Limits limits;
};

/// Plays until the game is over, the person resigns or quits, or `in` ends. A move that is not
/// possible is explained, and asked for again. Returns the winner, or -1. Throws Error when a
/// process of the search is lost, after the best move found has been played.
int play(Engine& engine, const PlayOptions& options, std::istream& in, std::ostream& out);

}  // namespace hex
