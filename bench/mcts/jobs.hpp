// SPDX-License-Identifier: MIT
// The jobs that mcts_bench searches with: both processes of the bench, or one alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/bench.hpp"
#include "dsfabric/dsfabric.hpp"
#include "mcts/settings.hpp"

namespace mcts_bench {

/// Made in Suite::setup() by all processes; in each its own.
struct Jobs {
  Jobs(bench::Channel& channel, const std::string& device);

  /// All processes of the bench, a worker each, on the core of its process.
  dsfabric::Fabric together;
  /// This process alone, with one and with two workers.
  dsfabric::Fabric alone;
  dsfabric::Fabric two_threads;
  std::vector<int> cores;
};
using JobsPtr = std::unique_ptr<Jobs>;

enum class Calls { kMessenger, kTraditional, kOverflow };

/// Simulations a second of one search from the empty board of 11 x 11; by all processes of the
/// fabric at once, the result is process 0's.
double search(dsfabric::Fabric& fabric, Calls calls, const mcts::Settings& settings,
              std::uint64_t rollouts);
/// The same without the framework, on the calling thread.
double search_plainly(const mcts::Settings& settings, std::uint64_t rollouts);

/// While it lives, threads that are started may run on any of the cores.
class AllCores {
 public:
  explicit AllCores(const std::vector<int>& cores);
  AllCores(const AllCores&) = delete;
  AllCores& operator=(const AllCores&) = delete;
  ~AllCores();

 private:
  std::vector<int> before_;
};

}  // namespace mcts_bench
