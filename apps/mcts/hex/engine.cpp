// SPDX-License-Identifier: MIT
// Chooses the engine.
#include "hex/engine.hpp"

#include "dtutils/error.hpp"
#include "hex/engine_of.hpp"

namespace hex {
namespace {

std::vector<const EngineKind*> kinds() {
  return {&kMessengerEngine, &kTraditionalEngine, &kOverflowEngine, &kSendEngine};
}

}  // namespace

const std::vector<std::string>& channel_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const EngineKind* kind : kinds()) all.emplace_back(kind->channel);
    return all;
  }();
  return names;
}

void with_engine(dsfabric::Fabric& fabric, const EngineOptions& options, const Driver& driver) {
  constexpr std::size_t kSmall = EngineOf<games::Hex11, mcts::SendLink>::kLargest;
  for (const EngineKind* kind : kinds()) {
    if (kind->channel != options.channel) continue;
    const auto run = options.largest <= kSmall ? kind->small : kind->large;
    return run(fabric, options.memory, driver);
  }
  throw dtutils::Error("calls by \"" + options.channel + "\"", "there is no such way",
                       "see --help for those that there are");
}

}  // namespace hex
