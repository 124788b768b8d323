// SPDX-License-Identifier: MIT
// Makes engines for one range of board sizes; each range is compiled in a file of its own.
#pragma once

#include <fmt/format.h>

#include "hex/engine.hpp"
#include "mcts/mcts.hpp"

namespace hex {

template <class Hex, mcts::SearchChannel Channel>
class EngineOf final : public Engine {
 public:
  static constexpr std::size_t kLargest = sizeof(Hex) == sizeof(games::Hex11) ? 11 : 19;

  explicit EngineOf(mcts::Searcher<Hex, Channel>& searcher) : searcher_(searcher) {}
  mcts::Report think(const Position& position, const mcts::Settings& settings,
                     const mcts::Limits& limits, const Progress& progress) override {
    if (position.size() > kLargest) {
      throw dtutils::Error(fmt::format("a board of {0} x {0}", position.size()),
                           fmt::format("this search is for boards up to {}", kLargest),
                           "start the program with a larger --size");
    }
    return searcher_.think(position.as<kLargest>(), settings, limits, progress);
  }

 private:
  mcts::Searcher<Hex, Channel>& searcher_;
};

using Driver = std::function<void(Engine&)>;

template <class Hex, mcts::SearchChannel Channel>
void run_engine(dsfabric::Fabric& fabric, std::size_t memory, const Driver& driver) {
  mcts::run<Hex, Channel>(fabric, memory, [&](mcts::Searcher<Hex, Channel>& searcher) {
    EngineOf<Hex, Channel> engine(searcher);
    driver(engine);
  });
}

/// One way to make the calls, for both ranges.
struct EngineKind {
  const char* channel;
  void (*small)(dsfabric::Fabric&, std::size_t memory, const Driver&);
  void (*large)(dsfabric::Fabric&, std::size_t memory, const Driver&);
};
extern const EngineKind kMessengerEngine;
extern const EngineKind kTraditionalEngine;
extern const EngineKind kOverflowEngine;
extern const EngineKind kSendEngine;

}  // namespace hex
