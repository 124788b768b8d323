// SPDX-License-Identifier: MIT
// Nodes of two sites in a job of processes: their loads are words of the job.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "adaptation/adaptation.hpp"
#include "dsfabric/support/fork_job.hpp"
#include "support/require.hpp"

namespace support {

inline dsfabric::Config one_worker() {
  dsfabric::Config config;
  config.threads = 1;
  return config;
}

inline const std::vector<adaptation::Site> kSites{{.name = "a"}, {.name = "b"}};

inline adaptation::DeciderOptions eager() {
  return {.samples = 2,
          .settle = std::chrono::milliseconds(1),
          .claim_patience = std::chrono::milliseconds(20)};
}

/// Serves until `word` of the job says so; its load is what the job says of its site.
inline void serve_until(Member& member, adaptation::Node& node, std::size_t word,
                        std::size_t loads) {
  require(eventually([&] {
            node.load(member.memory.words[loads + node.serving().value]);
            if (const auto move = node.moved()) node.serve(move->to);
            return member.memory.words[word] != 0;
          }),
          "the decider has finished");
}

template <class Done>
void step_until(adaptation::Decider& decider, const Done& done, const char* what) {
  require(eventually([&] {
            decider.step();
            return done();
          }),
          what);
}

inline std::size_t serving(const adaptation::Decider& decider, std::uint8_t site) {
  return static_cast<std::size_t>(
      std::ranges::count_if(decider.nodes(), [&](const adaptation::NodeView& node) {
        return node.present && node.serving.value == site;
      }));
}

}  // namespace support
