// SPDX-License-Identifier: MIT
// Which moves the playouts of a leaf were made of, and how these fared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>

#include "mcts/game.hpp"

namespace mcts {

/// How often a move was made by one player, and how often that player won then.
struct Made {
  std::uint32_t times = 0;
  std::uint32_t wins = 0;

  static constexpr Made of(std::uint64_t bits) noexcept {
    return {static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)};
  }
  /// In one word: times, 32 bits | wins, 32 bits. Words can be added.
  constexpr std::uint64_t bits() const noexcept { return std::uint64_t{times} << 32 | wins; }
};

/// Sums over the playouts of one rollout, for each move. It travels up with the rollout's points
/// and tells every position on the way how its moves fared in the playouts, whenever they were
/// made there ("all moves as first"). Plain bytes. Owner thread only.
template <HasOwners G>
class Owners {
 public:
  /// Playouts that fit into the sums; later ones are not recorded.
  static constexpr std::uint32_t kMax = 255;

  /// A playout in which player 0 made the moves of `first`, and player 1 all others.
  void add(const MoveSet<G>& first, bool first_wins) noexcept {
    if (playouts_ == kMax) return;
    ++playouts_;
    wins_ += first_wins;
    const std::uint64_t mask = first_wins ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < first_.size(); i += 8) {
      const std::uint64_t counts = kSpread[first[i / 64] >> i % 64 & 0xff];
      add_bytes(&first_[i], counts);
      add_bytes(&first_won_[i], counts & mask);
    }
  }
  Made made(int player, Move move) const noexcept {
    const std::uint32_t times = first_[move];
    const std::uint32_t won = first_won_[move];
    if (player == 0) return {times, won};
    // What player 0 did not make, and did not win then.
    return {playouts_ - times, playouts_ - wins_ - (times - won)};
  }

 private:
  /// A byte for each move.
  using Sums = std::array<std::uint8_t, std::tuple_size_v<MoveSet<G>> * 64>;

  static void add_bytes(std::uint8_t* eight, std::uint64_t more) noexcept {
    std::uint64_t sums;
    std::memcpy(&sums, eight, sizeof sums);
    sums += more;
    std::memcpy(eight, &sums, sizeof sums);
  }
  /// Each bit of a byte as a byte of its own.
  static constexpr auto kSpread = [] {
    std::array<std::uint64_t, 256> spread{};
    for (std::uint64_t bits = 0; bits < 256; ++bits) {
      for (std::uint64_t i = 0; i < 8; ++i) spread[bits] |= (bits >> i & 1) << i * 8;
    }
    return spread;
  }();

  Sums first_{};
  Sums first_won_{};
  std::uint32_t playouts_ = 0;
  std::uint32_t wins_ = 0;
};

/// Made::bits() of all moves, for one player: looked up once at each child of each node on the way.
template <HasOwners G>
class MadeTable {
 public:
  MadeTable(const Owners<G>& owners, int player) noexcept {
    for (std::size_t move = 0; move < bits_.size(); ++move) {
      bits_[move] = owners.made(player, static_cast<Move>(move)).bits();
    }
  }
  std::uint64_t operator[](Move move) const noexcept { return bits_[move]; }

 private:
  std::array<std::uint64_t, G::kMaxMoves> bits_;
};

/// For games that do not tell: nothing.
struct NoOwners {};

template <Game G>
struct OwnersOf {
  using Type = NoOwners;
  using Table = NoOwners;
};
template <Game G>
requires HasOwners<G>
struct OwnersOf<G> {
  using Type = Owners<G>;
  using Table = MadeTable<G>;
};

}  // namespace mcts
