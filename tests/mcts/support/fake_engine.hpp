// SPDX-License-Identifier: MIT
// An engine that answers at once: the first empty cell, or what a test has told it to.
#pragma once

#include <deque>
#include <string>

#include "hex/engine.hpp"

namespace support {

class FakeEngine final : public hex::Engine {
 public:
  mcts::Report think(const hex::Position& position, const mcts::Settings&,
                     const mcts::Limits& asked, const Progress&) override {
    limits = asked;
    mcts::Report report;
    report.failure = failure;
    mcts::Move move = 0;
    while (position.at(move) >= 0) ++move;
    if (!answers.empty()) {
      std::string why;
      move = hex::parse_move(answers.front(), position, why).value();
      answers.pop_front();
    }
    report.moves.push_back({move, 1, 0.5});
    return report;
  }

  std::deque<std::string> answers;
  std::string failure;
  /// Of the last search.
  mcts::Limits limits;
};

}  // namespace support
