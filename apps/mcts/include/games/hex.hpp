// SPDX-License-Identifier: MIT
// Hex: any size up to 19, with or without the swap rule.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "games/hex_kernel.hpp"
#include "mcts/game.hpp"

namespace games {

inline constexpr std::size_t kMaxHexSize = 19;

/// A position on a board of up to kLargest rows. Player 0 ("black", drawn x) moves first and joins
/// top and bottom; player 1 ("white", o) joins left and right. A move is row * size + column, or
/// size * size for the swap: player 1 answers the first move by taking it over, mirrored, as his
/// own (swap pieces). Source: Hayward and Toft, Hex: The Full Story.
template <std::size_t kLargest>
class BasicHex {
  static_assert(kLargest >= 1 && kLargest <= kMaxHexSize);

 public:
  using Cells = Bits<(kLargest * kLargest + 63) / 64>;
  static constexpr std::size_t kMaxMoves = kLargest * kLargest + 1;

  BasicHex() noexcept : BasicHex(kLargest) {}
  /// `size` is 1 to kLargest.
  explicit BasicHex(std::size_t size, bool swap_rule = false) noexcept
      : size_(static_cast<std::uint8_t>(size)), swap_rule_(swap_rule) {}

  std::size_t size() const noexcept { return size_; }
  bool swap_rule() const noexcept { return swap_rule_; }
  std::size_t stones() const noexcept { return count_; }
  mcts::Move swap_move() const noexcept { return static_cast<mcts::Move>(size_ * size_); }
  bool may_swap() const noexcept { return swap_rule_ && count_ == 1 && player_ == 1; }
  /// 0, 1, or -1 for an empty cell.
  int at(std::size_t cell) const noexcept {
    return stones_[0].test(cell) ? 0 : stones_[1].test(cell) ? 1 : -1;
  }
  /// A position that was set up by hand: a stone of any colour anywhere, then who is to move.
  void put(std::size_t cell, int player) noexcept {
    stones_[player].set(cell);
    ++count_;
    last_ = static_cast<std::uint8_t>(player);
  }
  void set_player(int player) noexcept { player_ = static_cast<std::uint8_t>(player); }

  /// The same position in a type for other sizes, which holds it: size() <= kOther.
  template <std::size_t kOther>
  BasicHex<kOther> as() const noexcept {
    BasicHex<kOther> other(size_, swap_rule_);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto& from = stones_[i].words;
      auto& to = other.stones_[i].words;
      std::copy_n(from.begin(), std::min(from.size(), to.size()), to.begin());
    }
    other.count_ = count_;
    other.player_ = player_;
    other.last_ = last_;
    return other;
  }

  int player() const noexcept { return player_; }

  std::size_t moves(std::span<mcts::Move> into) const noexcept {
    const Cells taken = stones_[0] | stones_[1];
    const std::size_t cells = std::size_t{size_} * size_;
    std::size_t count = 0;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      into[count] = static_cast<mcts::Move>(cell);
      count += !taken.test(cell);
    }
    if (may_swap()) into[count++] = swap_move();
    return count;
  }

  void apply(mcts::Move move) noexcept {
    if (move == swap_move()) {
      take_over();
    } else {
      stones_[player_].set(move);
      ++count_;
    }
    last_ = player_;
    player_ ^= 1;
  }

  /// Only who placed the last stone can have won, and nobody with fewer stones than rows.
  mcts::Outcome outcome() const noexcept {
    if (count_ < size_) return mcts::Outcome::kOngoing;
    return kernel().joined(stones_[last_], last_) ? mcts::win_of(last_) : mcts::Outcome::kOngoing;
  }

  mcts::Outcome playout(mcts::Random& random) const noexcept {
    Cells first = stones_[0];
    return mcts::win_of(kernel().fill(first, stones_[1], player_, random));
  }
  /// The same, and who had which cell at its end.
  mcts::Outcome playout(mcts::Random& random, mcts::MoveSet<BasicHex>& first) const noexcept {
    Cells stones = stones_[0];
    const mcts::Outcome outcome = mcts::win_of(kernel().fill(stones, stones_[1], player_, random));
    std::copy(stones.words.begin(), stones.words.end(), first.begin());
    return outcome;
  }

 private:
  /// The functions of one board size.
  struct Kernel {
    bool (*joined)(const Cells& stones, int player) noexcept;
    int (*fill)(Cells& first, const Cells& second, int player, mcts::Random&) noexcept;
  };
  template <std::size_t kSize>
  static typename HexKernel<kSize>::Cells narrow(const Cells& cells) noexcept {
    typename HexKernel<kSize>::Cells out;
    for (std::size_t i = 0; i < out.words.size(); ++i) out.words[i] = cells.words[i];
    return out;
  }
  template <std::size_t kSize>
  static bool joined(const Cells& stones, int player) noexcept {
    return HexKernel<kSize>::joined(narrow<kSize>(stones), player);
  }
  template <std::size_t kSize>
  static int fill(Cells& first, const Cells& second, int player, mcts::Random& random) noexcept {
    using K = HexKernel<kSize>;
    auto mine = narrow<kSize>(first);
    const auto empty = K::kBoard & ~(mine | narrow<kSize>(second));
    const int winner = K::winner_of_random_fill(mine, empty, player, random);
    std::copy(mine.words.begin(), mine.words.end(), first.words.begin());
    return winner;
  }
  template <std::size_t kOther>
  friend class BasicHex;

  template <std::size_t... kSizes>
  static constexpr auto make_kernels(std::index_sequence<kSizes...>) noexcept {
    return std::array<Kernel, kLargest>{Kernel{&joined<kSizes + 1>, &fill<kSizes + 1>}...};
  }
  const Kernel& kernel() const noexcept {
    static constexpr auto kKernels = make_kernels(std::make_index_sequence<kLargest>());
    return kKernels[size_ - 1u];
  }

  void take_over() noexcept {
    const std::size_t cells = std::size_t{size_} * size_;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      if (!stones_[0].test(cell)) continue;
      stones_[0].flip(cell);
      return stones_[1].set(cell % size_ * size_ + cell / size_);
    }
  }

  Cells stones_[2];
  std::uint16_t count_ = 0;
  std::uint8_t size_;
  std::uint8_t player_ = 0;
  std::uint8_t last_ = 0;
  bool swap_rule_;
};

/// Boards up to 11 fit into two words a player; a node of their tree into one cache line.
using Hex11 = BasicHex<11>;
using Hex19 = BasicHex<kMaxHexSize>;
static_assert(mcts::Game<Hex11> && mcts::HasPlayout<Hex11> && sizeof(Hex11) == 40);
static_assert(mcts::Game<Hex19> && sizeof(Hex19) == 104);
static_assert(mcts::HasOwners<Hex11> && mcts::HasOwners<Hex19>);

}  // namespace games
