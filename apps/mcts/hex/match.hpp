// SPDX-License-Identifier: MIT
// A match of two settings against each other.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "hex/engine.hpp"

namespace hex {

/// One side of a match.
struct Contender {
  std::string name;
  mcts::Settings settings;
  mcts::Limits limits;
  /// No tree: equally many playouts for each move (mcts::flat_search).
  bool flat = false;
};

/// Changes a contender by "processes=2,rollouts=1000,flat": the settings' names, comma separated.
/// Throws Error that lists them for one that does not exist.
void configure(Contender& contender, const std::string& text);

struct MatchOptions {
  std::size_t size = 9;
  std::uint64_t games = 20;
  std::uint64_t seed = 1;
  std::array<Contender, 2> contenders;
};

struct MatchResult {
  std::uint64_t games = 0;
  /// Games that contender 0 won, by the colour that it had.
  std::array<std::uint64_t, 2> games_as{};
  std::array<std::uint64_t, 2> won_as{};
  /// Mean of each contender over its moves: playouts, seconds.
  std::array<double, 2> playouts{};
  std::array<double, 2> seconds{};
  std::uint64_t won() const noexcept { return won_as[0] + won_as[1]; }
};

/// Games in pairs from the same random first stone, colours changed, so that neither side gains by
/// the opening. `told` is called after each game. Throws Error when a process is lost.
MatchResult play_match(Engine& engine, const MatchOptions& options,
                       const std::function<void(const MatchResult&)>& told);

/// The table with the share and its 95 % interval.
std::string describe(const MatchResult& result, const MatchOptions& options);

}  // namespace hex
