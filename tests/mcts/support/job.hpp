// SPDX-License-Identifier: MIT
// Searches in jobs of forked processes, and in this process alone.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>

#include "dsfabric/support/fork_job.hpp"
#include "games/hex.hpp"
#include "mcts/mcts.hpp"
#include "mcts/ring_links.hpp"
#include "support/require.hpp"

namespace support {

using HexSearcher = mcts::Searcher<games::Hex11, mcts::SendLink>;

/// A job of processes, each with workers; the driver runs on the root's worker.
struct SearchJob {
  std::uint32_t processes = 1;
  std::uint32_t threads = 1;
  /// 0: the plain device; else the seed of the adversary.
  std::uint64_t adversary = 0;
  std::size_t memory = std::size_t{256} << 20;

  template <mcts::Game G, mcts::SearchChannel Channel = mcts::SendLink, class Driver>
  void join(Member& member, Driver&& driver) const {
    if (adversary != 0) {
      setenv("CARIAMA_SHM_ADVERSARY", std::to_string(adversary).c_str(), 1);
    } else {
      unsetenv("CARIAMA_SHM_ADVERSARY");
    }
    dsfabric::Config config;
    config.threads = threads;
    dsfabric::Fabric fabric = member.join(config);
    mcts::run<G, Channel>(fabric, memory, driver);
  }
  /// Runs it to its end; "" or what went wrong where.
  template <mcts::Game G, mcts::SearchChannel Channel = mcts::SendLink, class Driver>
  std::string run(Driver&& driver) const {
    ForkJob job(processes, [&](Member& member) { join<G, Channel>(member, driver); });
    return job.wait(std::chrono::seconds(50));
  }
};

/// What holds after every phase, whoever took part.
inline void require_exact(const mcts::Report& report) {
  const mcts::Counters& total = report.total;
  require(report.failure.empty(), "no failure: " + report.failure);
  require_equal(total.finished, total.started, "finished");
  require_equal(total.simulations, total.started, "simulations");
  std::uint64_t visits = 0;
  for (const mcts::MoveReport& move : report.moves) visits += move.visits;
  require_equal(visits, total.started, "the visits at the root");
}

/// Searches, and counts every visit of every node.
template <class Searcher, class G>
mcts::Report think_exactly(Searcher& searcher, const G& position, mcts::Settings settings,
                           const mcts::Limits& limits) {
  settings.audit = true;
  mcts::Report report = searcher.think(position, settings, limits);
  require_exact(report);
  require_equal(searcher.audit(), 0u, "nodes whose visits differ from what their parents count");
  return report;
}

}  // namespace support
