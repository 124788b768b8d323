// SPDX-License-Identifier: MIT
// Hex for people: cells by name, the board as a drawing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "games/hex.hpp"

namespace hex {

/// What the program works with, whatever the size of the board.
using Position = games::Hex19;

/// "f6": column f, row 6, counted from the top left; "swap" for the swap.
std::string name_of(mcts::Move move, std::size_t size);

/// The move that `text` names, legal in this position; otherwise nothing, and `why` says what is
/// wrong with it.
std::optional<mcts::Move> parse_move(std::string_view text, const Position& position,
                                     std::string& why);

/// 'x' and 'o'.
char mark_of(int player) noexcept;
/// "x (top to bottom)", "o (left to right)".
std::string describe(int player);

/// The board as a rhombus, one line a row; the stone `last` in brackets. With `colour`, stones are
/// coloured by escape sequences.
std::string draw(const Position& position, mcts::Move last = mcts::kNoMove, bool colour = false);

}  // namespace hex
