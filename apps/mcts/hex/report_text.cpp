// SPDX-License-Identifier: MIT
// What a search has found, in words, as JSON and on the way.
#include "hex/report_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace hex {
namespace {

std::string line_of(const mcts::Report& report, std::size_t size) {
  std::string text;
  for (const mcts::Move move : report.line) text += name_of(move, size) + " ";
  if (!text.empty()) text.pop_back();
  return text;
}

const char* name_of(mcts::Proof proof) {
  return proof == mcts::Proof::kWin ? "win" : proof == mcts::Proof::kLoss ? "loss" : "unknown";
}

std::uint64_t visits_of(const mcts::Report& report) {
  std::uint64_t visits = 0;
  for (const mcts::MoveReport& move : report.moves) visits += move.visits;
  return visits;
}

/// Of the whole search, in playouts. After a failure the counts of the others are missing; then
/// each rollout that came back to the root counts as the simulation of one leaf.
double playouts_a_second(const mcts::Report& report, const mcts::Settings& settings) {
  const auto simulations =
      static_cast<double>(report.failure.empty() ? report.total.simulations : visits_of(report));
  return report.seconds > 0 ? simulations * settings.playouts / report.seconds : 0;
}

}  // namespace

std::string describe(const mcts::Report& report, const Position& position,
                     const mcts::Settings& settings) {
  const std::size_t size = position.size();
  const mcts::Counters& total = report.total;
  std::string text;
  if (!report.failure.empty()) {
    text += fmt::format("The search ended early: {}\nThis is the best move until then.\n",
                        report.failure);
  }
  text +=
      fmt::format("best move    {} for {}, wins {:.1f} % of its playouts\n",
                  name_of(report.best(), size), mark_of(position.player()), 100 * report.value());
  if (report.proven != mcts::Outcome::kOngoing) {
    const bool first = report.proven == mcts::Outcome::kFirst;
    text += fmt::format("proven       {} wins against any play\n", mark_of(first ? 0 : 1));
  }
  text += fmt::format("line         {}\n", line_of(report, size));
  text += "visits      ";
  for (std::size_t i = 0; i < std::min<std::size_t>(5, report.moves.size()); ++i) {
    const mcts::MoveReport& move = report.moves[i];
    text +=
        fmt::format(" {} {} ({:.1f} %)", name_of(move.move, size), move.visits, 100 * move.value);
  }
  text += fmt::format("\nsearched     {} rollouts, {:.2f} s: {}{:.0f} simulations/s\n",
                      visits_of(report), report.seconds,
                      report.failure.empty() ? fmt::format("{} nodes, ", total.nodes) : "about ",
                      playouts_a_second(report, settings));
  if (!report.failure.empty()) {
    text += "unknown      nodes, calls: the counts of the others are lost with the search\n";
    return text;
  }
  if (total.refused > 0) {
    text += fmt::format("memory       short: {} rollouts went on without new nodes (--memory)\n",
                        total.refused);
  }
  if (total.calls > 0) {
    text += fmt::format(
        "travelled    {} calls, {:.1f} MB between processes: {:.1f} calls and "
        "{:.0f} bytes a rollout\n",
        total.calls, static_cast<double>(total.bytes) / 1e6,
        static_cast<double>(total.calls) / static_cast<double>(total.started),
        static_cast<double>(total.bytes) / static_cast<double>(total.started));
  }
  return text;
}

nlohmann::json to_json(const mcts::Report& report, const Position& position,
                       const mcts::Settings& settings) {
  const std::size_t size = position.size();
  nlohmann::json moves = nlohmann::json::array();
  for (const mcts::MoveReport& move : report.moves) {
    moves.push_back({{"move", name_of(move.move, size)},
                     {"visits", move.visits},
                     {"value", move.value},
                     {"proof", name_of(move.proof)}});
  }
  nlohmann::json line = nlohmann::json::array();
  for (const mcts::Move move : report.line) line.push_back(name_of(move, size));
  const mcts::Counters& total = report.total;
  const bool counted = report.failure.empty();
  const auto known = [&](std::uint64_t count) {
    return counted ? nlohmann::json(count) : nlohmann::json();
  };
  nlohmann::json proven;
  if (report.proven != mcts::Outcome::kOngoing) {
    proven = report.proven == mcts::Outcome::kFirst ? "x" : "o";
  }
  return {{"size", size},
          {"player", std::string(1, mark_of(position.player()))},
          {"best", name_of(report.best(), size)},
          {"value", report.value()},
          {"proven", proven},
          {"line", line},
          {"moves", moves},
          {"rollouts", counted ? total.finished : visits_of(report)},
          {"playouts_a_leaf", settings.playouts},
          {"phases", report.phases},
          {"nodes", known(total.nodes)},
          {"refused", known(total.refused)},
          {"deferred", known(total.deferred)},
          {"calls", known(total.calls)},
          {"call_bytes", known(total.bytes)},
          {"seconds", report.seconds},
          {"simulations_per_second", playouts_a_second(report, settings)},
          {"failure", report.failure}};
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

void ProgressLine::show(const mcts::Report& report, std::size_t size) {
  if (!terminal_ || report.moves.empty()) return;
  shown_ = true;
  fmt::print(stderr, "\r{:5.1f} s  {:>9} rollouts  {} {:.1f} %  \x1b[K", report.seconds,
             visits_of(report), name_of(report.best(), size), 100 * report.value());
}

}  // namespace hex
