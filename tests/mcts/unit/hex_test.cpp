// SPDX-License-Identifier: MIT
// The rules of Hex, against slow and plain code; playouts are fair.
#include "games/hex.hpp"

#include <set>
#include <vector>

#include "support/catch.hpp"
#include "support/random.hpp"

using games::Hex11;
using games::Hex19;
using mcts::Move;
using mcts::Outcome;

namespace {

/// By the book: a search over neighbours, cell by cell.
template <class Hex>
bool joined_slowly(const Hex& hex, int player) {
  const int n = static_cast<int>(hex.size());
  std::set<std::pair<int, int>> seen;
  std::vector<std::pair<int, int>> open;
  const auto visit = [&](int row, int column) {
    if (row < 0 || column < 0 || row >= n || column >= n) return;
    if (hex.at(static_cast<std::size_t>(row * n + column)) != player) return;
    if (seen.insert({row, column}).second) open.push_back({row, column});
  };
  for (int i = 0; i < n; ++i) player == 0 ? visit(0, i) : visit(i, 0);
  while (!open.empty()) {
    const auto [row, column] = open.back();
    open.pop_back();
    if ((player == 0 ? row : column) == n - 1) return true;
    for (const auto& [down, right] :
         {std::pair{0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, -1}, {-1, 1}}) {
      visit(row + down, column + right);
    }
  }
  return false;
}

template <class Hex>
void play_against_the_book(std::size_t size, std::uint64_t seed, int games) {
  mcts::Random random(seed);
  INFO("size " << size << ", seed " << seed);
  for (int game = 0; game < games; ++game) {
    Hex hex(size, game % 2 == 1);
    std::array<Move, Hex::kMaxMoves> moves;
    while (hex.outcome() == Outcome::kOngoing) {
      const std::size_t count = hex.moves(moves);
      REQUIRE(count > 0);
      hex.apply(moves[random.below(static_cast<std::uint32_t>(count))]);
      const bool first = joined_slowly(hex, 0);
      const bool second = joined_slowly(hex, 1);
      const Outcome expected = first    ? Outcome::kFirst
                               : second ? Outcome::kSecond
                                        : Outcome::kOngoing;
      REQUIRE(hex.outcome() == expected);
    }
  }
}

}  // namespace

TEST_CASE("hex_winner_is_the_one_by_the_book") {
  const auto seed = support::test_seed();
  for (std::size_t size = 1; size <= 11; ++size) play_against_the_book<Hex11>(size, seed, 10);
  for (const std::size_t size : {1, 7, 12, 13, 16, 19}) {
    play_against_the_book<Hex19>(size, seed, 2);
  }
}

TEST_CASE("hex_moves_are_the_empty_cells") {
  Hex11 hex(3);
  std::array<Move, Hex11::kMaxMoves> moves;
  CHECK(hex.moves(moves) == 9);
  hex.apply(4);
  CHECK(hex.moves(moves) == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK(moves[i] != 4);
  CHECK(hex.player() == 1);
  CHECK(hex.at(4) == 0);
  CHECK(hex.at(3) == -1);
}

TEST_CASE("hex_swap_takes_over_the_mirrored_stone_once") {
  Hex11 hex(5, true);
  std::array<Move, Hex11::kMaxMoves> moves;
  CHECK(hex.moves(moves) == 25);
  hex.apply(1);  // row 0, column 1
  REQUIRE(hex.may_swap());
  CHECK(hex.moves(moves) == 25);
  CHECK(moves[24] == hex.swap_move());
  hex.apply(hex.swap_move());
  CHECK(hex.at(1) == -1);
  CHECK(hex.at(5) == 1);  // row 1, column 0
  CHECK(hex.player() == 0);
  CHECK(hex.stones() == 1);
  CHECK_FALSE(hex.may_swap());
  hex.apply(0);
  CHECK_FALSE(hex.may_swap());
}

TEST_CASE("hex_playouts_fill_the_board_as_random_moves_do") {
  // The share of wins from some positions, by the fast fill and by moves made one by one.
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  mcts::Random random(seed);
  for (const std::size_t size : {4, 7, 9, 11}) {
    Hex11 hex(size);
    for (const std::size_t cell : {std::size_t{1}, size + 2, 2 * size}) {
      hex.apply(static_cast<Move>(cell));
    }
    constexpr int kGames = 6000;
    int fast = 0, slow = 0;
    for (int i = 0; i < kGames; ++i) {
      fast += hex.playout(random) == Outcome::kFirst;
      slow += mcts::play_at_random(hex, random) == Outcome::kFirst;
    }
    // Five standard deviations of the difference of two shares.
    INFO("size " << size << ": " << fast << " and " << slow << " of " << kGames);
    CHECK(std::abs(fast - slow) < 5 * std::sqrt(kGames / 2.0));
  }
}

TEST_CASE("hex_playouts_of_large_boards_are_fair") {
  mcts::Random random(7);
  int first = 0;
  for (int i = 0; i < 4000; ++i) first += Hex19(18).playout(random) == Outcome::kFirst;
  // An even board is symmetric: half of the fills each.
  CHECK(std::abs(first - 2000) < 5 * 32);
}

TEST_CASE("hex_fills_give_every_split_of_the_cells_equally_often") {
  // 2 x 2, x to move: of the six ways to choose two cells of four, x wins with five.
  mcts::Random random(3);
  constexpr int kGames = 60000;
  int first = 0;
  for (int i = 0; i < kGames; ++i) first += Hex11(2).playout(random) == Outcome::kFirst;
  const double expected = kGames * 3.0 / 6.0;
  CHECK(std::abs(first - expected) < 5 * std::sqrt(kGames / 4.0));
}

TEST_CASE("hex_stones_that_are_put_keep_the_rules") {
  Hex11 hex(3);
  for (const std::size_t cell : {0, 3, 6}) hex.put(cell, 0);
  CHECK(hex.outcome() == Outcome::kFirst);
}
