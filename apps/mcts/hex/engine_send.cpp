// SPDX-License-Identifier: MIT
// Searches whose calls are messages of DSfabric.
#include "hex/engine_of.hpp"

namespace hex {

const EngineKind kSendEngine{"send", &run_engine<games::Hex11, mcts::SendLink>,
                             &run_engine<games::Hex19, mcts::SendLink>};

}  // namespace hex
