// SPDX-License-Identifier: MIT
// Searches whose calls are one-sided writes into rings.
#include "hex/engine_of.hpp"
#include "mcts/ring_links.hpp"

namespace hex {
namespace {

template <mcts::SearchChannel Channel>
constexpr EngineKind kind_of(const char* name) {
  return {name, &run_engine<games::Hex11, Channel>, &run_engine<games::Hex19, Channel>};
}

}  // namespace

const EngineKind kMessengerEngine = kind_of<mcts::MessengerLink>("messenger");
const EngineKind kTraditionalEngine = kind_of<mcts::TraditionalLink>("traditional");
const EngineKind kOverflowEngine = kind_of<mcts::OverflowLink>("overflow");

}  // namespace hex
