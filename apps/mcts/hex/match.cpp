// SPDX-License-Identifier: MIT
// Pairs of games, their sum, and the words that describe a contender.
#include "hex/match.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <sstream>

#include "dtutils/error.hpp"
#include "hex/interval.hpp"
#include "mcts/flat.hpp"

namespace hex {
namespace {

double number_in(const std::string& key, const std::string& value) {
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || number < 0 || number > 1e15) {
    throw dtutils::Error("contender", fmt::format("\"{}\" is no number for {}", value, key),
                         "write for example: processes=2,playouts=16,seconds=0.1");
  }
  return number;
}

struct Move {
  mcts::Move move;
  double playouts;
  double seconds;
};

/// A search that had no time for a rollout knows no best move; then it is any that is legal.
mcts::Move best_or_any(const mcts::Report& report, const Position& position, std::uint64_t seed) {
  if (report.best() != mcts::kNoMove) return report.best();
  std::array<mcts::Move, Position::kMaxMoves> moves;
  const auto count = static_cast<std::uint32_t>(position.moves(moves));
  return moves[mcts::Random(seed).below(count)];
}

Move choose(Engine& engine, const Contender& who, const Position& position, std::uint64_t seed) {
  if (who.flat) {
    const mcts::Report report = mcts::flat_search(position, seed, who.limits);
    return {report.best(), static_cast<double>(report.total.simulations), report.seconds};
  }
  mcts::Settings settings = who.settings;
  settings.seed = seed;
  const mcts::Report report = engine.think(position, settings, who.limits, {});
  if (!report.failure.empty()) {
    throw dtutils::Error("match", report.failure, "start it again without that process");
  }
  return {best_or_any(report, position, seed),
          static_cast<double>(report.total.simulations) * settings.playouts, report.seconds};
}

}  // namespace

void configure(Contender& contender, const std::string& text) {
  mcts::Settings& settings = contender.settings;
  using Set = std::function<void(double)>;
  const std::map<std::string, Set> keys{
      {"processes", [&](double n) { settings.processes = static_cast<std::uint32_t>(n); }},
      {"playouts", [&](double n) { settings.playouts = static_cast<std::uint32_t>(n); }},
      {"window", [&](double n) { settings.window = static_cast<std::uint32_t>(n); }},
      {"exploration", [&](double n) { settings.exploration = static_cast<float>(n); }},
      {"rave", [&](double n) { settings.rave = static_cast<float>(n); }},
      {"virtual_loss", [&](double n) { settings.virtual_loss = static_cast<float>(n); }},
      {"leaves", [&](double) { settings.spread = mcts::Spread::kLeaves; }},
      {"near", [&](double) { settings.spread = mcts::Spread::kNear; }},
      {"uniform", [&](double) { settings.spread = mcts::Spread::kUniform; }},
      {"root_share", [&](double n) { settings.root_share = static_cast<float>(n); }},
      {"rollouts", [&](double n) { contender.limits.rollouts = static_cast<std::uint64_t>(n); }},
      {"seconds", [&](double n) { contender.limits.seconds = n; }},
      {"flat", [&](double n) { contender.flat = n != 0; }}};
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t equal = word.find('=');
    const std::string key = word.substr(0, equal);
    const auto found = keys.find(key);
    if (found == keys.end()) {
      std::string names;
      for (const auto& [name, set] : keys) names += " " + name;
      throw dtutils::Error("contender", fmt::format("\"{}\" cannot be set", key),
                           "choose from:" + names);
    }
    found->second(equal == std::string::npos ? 1 : number_in(key, word.substr(equal + 1)));
  }
}

MatchResult play_match(Engine& engine, const MatchOptions& options,
                       const std::function<void(const MatchResult&)>& told) {
  MatchResult result;
  std::array<double, 2> moves{};
  mcts::Random random(options.seed);
  mcts::Move opening = 0;
  while (result.games < options.games) {
    const std::size_t first = result.games % 2;  // the contender that has x
    Position position(options.size);
    if (first == 0) {
      opening = static_cast<mcts::Move>(
          random.below(static_cast<std::uint32_t>(options.size * options.size)));
    }
    position.apply(opening);
    while (position.outcome() == mcts::Outcome::kOngoing) {
      const std::size_t turn = position.player() == 0 ? first : 1 - first;
      const Move move = choose(engine, options.contenders[turn], position, random());
      ++moves[turn];
      result.playouts[turn] += (move.playouts - result.playouts[turn]) / moves[turn];
      result.seconds[turn] += (move.seconds - result.seconds[turn]) / moves[turn];
      position.apply(move.move);
    }
    const std::size_t winner = position.outcome() == mcts::Outcome::kFirst ? first : 1 - first;
    ++result.games;
    ++result.games_as[first];
    if (winner == 0) ++result.won_as[first];
    if (told) told(result);
  }
  return result;
}

std::string describe(const MatchResult& result, const MatchOptions& options) {
  std::string text = fmt::format("{:<24}{:>8}{:>8}{:>9}{:>18}{:>12}{:>14}\n", "", "games", "won",
                                 "share", "95 % interval", "s a move", "playouts");
  const auto row = [&](const std::string& name, std::uint64_t games, std::uint64_t won) {
    const Interval interval = wilson(won, games);
    const double share = games == 0 ? 0 : static_cast<double>(won) / static_cast<double>(games);
    return fmt::format("{:<24}{:>8}{:>8}{:>7.1f} %{:>9.1f} - {:.1f} %", name, games, won,
                       100 * share, 100 * interval.low, 100 * interval.high);
  };
  for (std::size_t i = 0; i < 2; ++i) {
    const std::uint64_t won = i == 0 ? result.won() : result.games - result.won();
    text += row(options.contenders[i].name, result.games, won);
    text += fmt::format("{:>12.3f}{:>14.0f}\n", result.seconds[i], result.playouts[i]);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    text += row(fmt::format("  {} as {}", options.contenders[0].name, mark_of(i == 0 ? 0 : 1)),
                result.games_as[i], result.won_as[i]) +
            "\n";
  }
  return text;
}

}  // namespace hex
