// SPDX-License-Identifier: MIT
// Names of cells and the drawing of the board.
#include "hex/board_text.hpp"

#include <fmt/format.h>

#include <cctype>

namespace hex {

std::string name_of(mcts::Move move, std::size_t size) {
  if (move == mcts::kNoMove) return "none";
  if (move == size * size) return "swap";
  return fmt::format("{}{}", static_cast<char>('a' + move % size), move / size + 1);
}

std::optional<mcts::Move> parse_move(std::string_view text, const Position& position,
                                     std::string& why) {
  const std::size_t size = position.size();
  std::string word;
  for (const char each : text) {
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  }
  if (word == "swap" || word == "swap-pieces") {
    if (position.may_swap()) return position.swap_move();
    why = position.swap_rule() ? "only the answer to the very first move may be a swap"
                               : "this game is played without the swap rule (start it with --swap)";
    return std::nullopt;
  }
  const std::string range =
      fmt::format("cells are a1 to {}", name_of(static_cast<mcts::Move>(size * size - 1), size));
  const bool digits = word.size() >= 2 && word.size() <= 3 &&
                      word.find_first_not_of("0123456789", 1) == std::string::npos;
  if (!digits || word[0] < 'a' || word[0] > 'z') {
    why = fmt::format("\"{}\" is no cell: write a letter and a number; {}", text, range);
    return std::nullopt;
  }
  const auto column = static_cast<std::size_t>(word[0] - 'a');
  const std::size_t row = std::stoul(word.substr(1));
  if (column >= size || row < 1 || row > size) {
    why = fmt::format("{} is not on the board: {}", word, range);
    return std::nullopt;
  }
  const std::size_t cell = (row - 1) * size + column;
  if (position.at(cell) >= 0) {
    why = fmt::format("{} is taken: choose an empty cell", word);
    return std::nullopt;
  }
  return static_cast<mcts::Move>(cell);
}

char mark_of(int player) noexcept { return player == 0 ? 'x' : 'o'; }

std::string describe(int player) { return player == 0 ? "x (top to bottom)" : "o (left to right)"; }

std::string draw(const Position& position, mcts::Move last, bool colour) {
  const std::size_t size = position.size();
  std::string text = "    ";
  for (std::size_t column = 0; column < size; ++column) {
    text += static_cast<char>('a' + column);
    text += ' ';
  }
  text.back() = '\n';
  for (std::size_t row = 0; row < size; ++row) {
    text += fmt::format("{}{:>2} ", std::string(row, ' '), row + 1);
    for (std::size_t column = 0; column < size; ++column) {
      const std::size_t cell = row * size + column;
      const int stone = position.at(cell);
      // A bracket stands in the space beside the cell.
      const bool before = cell == last;
      const bool after = column > 0 && cell - 1 == last;
      text += before ? '(' : after ? ')' : ' ';
      if (stone < 0) {
        text += '.';
      } else if (colour) {
        text += fmt::format("\x1b[1;{}m{}\x1b[0m", stone == 0 ? 31 : 34, mark_of(stone));
      } else {
        text += mark_of(stone);
      }
    }
    text += fmt::format("{}{}\n", row * size + size - 1 == last ? ')' : ' ', row + 1);
  }
  text += std::string(size, ' ') + "    ";
  for (std::size_t column = 0; column < size; ++column) {
    text += static_cast<char>('a' + column);
    text += ' ';
  }
  text.back() = '\n';
  return text;
}

}  // namespace hex
