// SPDX-License-Identifier: MIT
// The search as the Hex programs use it: one interface over board sizes and ways to call.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "hex/board_text.hpp"
#include "mcts/report.hpp"
#include "mcts/settings.hpp"

namespace hex {

struct EngineOptions {
  /// One of channel_names().
  std::string channel;
  /// The largest board that will be asked for: up to 11, nodes are half as large.
  std::size_t largest = games::kMaxHexSize;
  /// Bytes of tree in each process at most.
  std::size_t memory = std::size_t{1} << 30;
};

/// Ways to make the calls, the default first: "messenger" (one write a call), "traditional" and
/// "overflow" (aggregated), "send" (messages of DSfabric).
const std::vector<std::string>& channel_names();

/// What a driver is handed. Owner thread only.
class Engine {
 public:
  using Progress = std::function<void(const mcts::Report&)>;
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  /// As mcts::Searcher::think. Throws Error when the board is larger than EngineOptions::largest.
  virtual mcts::Report think(const Position& position, const mcts::Settings& settings,
                             const mcts::Limits& limits, const Progress& progress) = 0;
};

/// Runs `driver` on the root's worker, and the search on all workers of the job: mcts::run. Throws
/// Error for an unknown channel.
void with_engine(dsfabric::Fabric& fabric, const EngineOptions& options,
                 const std::function<void(Engine&)>& driver);

}  // namespace hex
