// SPDX-License-Identifier: MIT
// What a game has to offer, so that the framework can search it: plain state, moves, an end.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "mcts/random.hpp"

namespace mcts {

/// A move, numbered by the game as it likes.
using Move = std::uint16_t;
inline constexpr Move kNoMove = 0xffff;

/// How a game stands. kFirst and kSecond name the winner: player 0, player 1.
enum class Outcome : std::uint8_t { kOngoing, kFirst, kSecond, kDraw };

constexpr Outcome win_of(int player) noexcept {
  return player == 0 ? Outcome::kFirst : Outcome::kSecond;
}
constexpr bool is_win(Outcome outcome) noexcept {
  return outcome == Outcome::kFirst || outcome == Outcome::kSecond;
}

/// A game of two players with full information. The type is the position: plain bytes that mean the
/// same in another process, since positions travel. The framework asks nothing else of a game, and
/// the game knows nothing of trees, threads or processes.
template <class G>
concept Game = std::is_trivially_copyable_v<G> && std::is_standard_layout_v<G> &&
               std::default_initializable<G> && alignof(G) <= 8 &&
               requires(const G& position, G& changing, Move move, std::span<Move> into) {
                 /// No position has more moves.
                 { G::kMaxMoves } -> std::convertible_to<std::size_t>;
                 /// Who is to move: 0 or 1.
                 { position.player() } -> std::same_as<int>;
                 /// Writes all moves into `into` (of kMaxMoves) and returns how many. At least one
                 /// while ongoing.
                 { position.moves(into) } -> std::same_as<std::size_t>;
                 /// Makes one of these moves.
                 { changing.apply(move) } -> std::same_as<void>;
                 { position.outcome() } -> std::same_as<Outcome>;
               };

/// A game may bring a random playout of its own: from a position that is ongoing to the end of the
/// game. Without one, the framework makes random moves.
template <class G>
concept HasPlayout = requires(const G& position, Random& random) {
  { position.playout(random) } -> std::same_as<Outcome>;
};

/// A set of moves, as bits.
template <class G>
using MoveSet = std::array<std::uint64_t, (G::kMaxMoves + 63) / 64>;

/// A game in whose playouts each open move is made exactly once, by one side or the other (a board
/// is filled), may tell which of them player 0 made; those of earlier turns, and moves that do not
/// exist any more, may be in the set or not. All moves are then below kMaxMoves. The search learns
/// from it what a move is worth wherever it is made (see Owners). Settings::rave has no effect on
/// other games.
template <class G>
concept HasOwners = requires(const G& position, Random& random, MoveSet<G>& first) {
  { position.playout(random, first) } -> std::same_as<Outcome>;
};

/// Moves at random until the game is over.
template <Game G>
Outcome play_at_random(G position, Random& random) {
  std::array<Move, G::kMaxMoves> moves;
  Outcome outcome = position.outcome();
  while (outcome == Outcome::kOngoing) {
    const std::size_t count = position.moves(moves);
    position.apply(moves[random.below(static_cast<std::uint32_t>(count))]);
    outcome = position.outcome();
  }
  return outcome;
}

/// One playout from an ongoing position.
template <Game G>
Outcome playout(const G& position, Random& random) {
  if constexpr (HasPlayout<G>) {
    return position.playout(random);
  } else {
    return play_at_random(position, random);
  }
}

}  // namespace mcts
