// SPDX-License-Identifier: MIT
// Reports of a search, for people and for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hex/board_text.hpp"
#include "mcts/report.hpp"
#include "mcts/settings.hpp"

namespace hex {

/// Move, win rate, visits, line, speed, and what travelled between processes.
std::string describe(const mcts::Report& report, const Position& position,
                     const mcts::Settings& settings);
/// The same, with all moves.
nlohmann::json to_json(const mcts::Report& report, const Position& position,
                       const mcts::Settings& settings);

/// Shows how a search goes, on one line of stderr that is written over, when that is a terminal.
class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// Wipes the line.
  ~ProgressLine();
  void show(const mcts::Report& report, std::size_t size);

 private:
  bool terminal_;
  bool shown_ = false;
};

}  // namespace hex
