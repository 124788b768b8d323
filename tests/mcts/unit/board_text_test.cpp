// SPDX-License-Identifier: MIT
// Names of cells, refusals in words, the drawing.
#include "hex/board_text.hpp"

#include "support/catch.hpp"
#include "support/matchers.hpp"

using hex::Position;
using support::contains;

namespace {

std::string refusal(const std::string& text, const Position& position) {
  std::string why;
  CHECK_FALSE(hex::parse_move(text, position, why).has_value());
  return why;
}

}  // namespace

TEST_CASE("cells_have_names_and_names_mean_cells") {
  const Position position(19);
  std::string why;
  for (mcts::Move move = 0; move < 361; ++move) {
    CHECK(hex::parse_move(hex::name_of(move, 19), position, why) == move);
  }
  CHECK(hex::name_of(60, 11) == "f6");
  CHECK(hex::parse_move("F6", Position(11), why) == 60);
}

TEST_CASE("impossible_moves_are_explained") {
  Position position(5);
  position.apply(12);
  CHECK_THAT(refusal("c3", position), contains("taken"));
  CHECK_THAT(refusal("c6", position), contains("a1 to e5"));
  CHECK_THAT(refusal("f1", position), contains("not on the board"));
  CHECK_THAT(refusal("a0", position), contains("not on the board"));
  for (const char* text : {"", "c", "3c", "c3x", "c-1", "c1000", "pass"}) {
    CHECK_THAT(refusal(text, position), contains("no cell"));
  }
  CHECK_THAT(refusal("swap", position), contains("--swap"));
  Position swapping(5, true);
  CHECK_THAT(refusal("swap", swapping), contains("very first"));
  swapping.apply(3);
  std::string why;
  CHECK(hex::parse_move("swap", swapping, why) == swapping.swap_move());
}

TEST_CASE("boards_are_drawn_with_the_last_stone_in_brackets") {
  Position position(3);
  position.apply(4);
  position.apply(8);
  CHECK(hex::draw(position, 8) ==
        "    a b c\n"
        " 1  . . . 1\n"
        "  2  . x . 2\n"
        "   3  . .(o)3\n"
        "       a b c\n");
}
