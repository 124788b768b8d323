// SPDX-License-Identifier: MIT
// Workload tree: calls that call, and the detection of their end.
#include <fmt/format.h>

#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "workloads.hpp"

namespace simulate {
namespace {

constexpr std::uint32_t kPhases = 3;
constexpr std::uint32_t kMaxDepth = 5;
constexpr std::uint32_t kPlaces = 1u << (kMaxDepth + 1);
/// Longest that a call computes, in virtual time.
constexpr std::uint64_t kComputeNs = 2'000;

/// Of the trees of one phase, all of which are gone when its end is found. Many calls, or so few
/// that what a wave counts may agree by chance.
struct Phase {
  std::uint32_t depth;
  bool one_tree;

  std::uint64_t calls(std::uint32_t workers) const {
    return (one_tree ? 1 : workers) * ((std::uint64_t{2} << depth) - 1);
  }
};

/// The seed chooses.
Phase phase_of(std::uint64_t seed, std::uint32_t number) {
  const std::uint64_t chosen = seed / 2 + number;
  return {static_cast<std::uint32_t>(2 + chosen % (kMaxDepth - 1)), chosen % 3 != 0};
}

/// What ran; the nodes share it.
struct Forest {
  std::uint64_t executed[kPhases] = {};
  std::uint64_t refused = 0;
  /// By phase, root, and name of the call.
  std::vector<std::uint8_t> runs;
  std::string violation;
};

/// Runs, and calls two more on workers that its name chooses.
struct Branch {
  Forest* forest;
  std::uint32_t phase;
  std::uint32_t root;
  /// 1 for the root, 2n and 2n + 1 for the children of n.
  std::uint32_t place;
  std::uint32_t depth;

  void operator()(dsfabric::CallContext& call) const {
    const std::uint32_t workers = call.fabric.total_threads();
    ++forest->executed[phase];
    if (++forest->runs[(phase * workers + root) * kPlaces + place] != 1 &&
        forest->violation.empty()) {
      forest->violation = fmt::format("call {} of tree {} ran twice", place, root);
    }
    simulation::compute(
        std::chrono::nanoseconds(dtutils::Simulation::current()->random() % kComputeNs));
    if (depth == 0) return;
    dsfabric::SendChannel calls(call.fabric);
    for (const std::uint32_t child : {2 * place, 2 * place + 1}) {
      const std::uint32_t to = (root + child * 2654435761u) % workers;
      const auto status =
          calls.call(call.fabric.thread_of_rank(to), Branch{forest, phase, root, child, depth - 1});
      if (status != dsfabric::CallStatus::kAccepted) ++forest->refused;
    }
  }
};

}  // namespace

Outcome run_tree(const Run& run) {
  const std::uint64_t seed = run.options.cluster.seed;
  simulation::Options options = run.options;
  options.config.threads = static_cast<std::uint32_t>(1 + seed % 2);
  const std::uint32_t workers = run.nodes * options.config.threads;
  Forest forest;
  forest.runs.resize(std::size_t{kPhases} * workers * kPlaces);
  const auto program = [&](dsfabric::Fabric& fabric) {
    fabric.run([&](dsfabric::Thread& self) {
      dsfabric::SendChannel calls(self.fabric());
      const std::uint32_t root = self.fabric().rank_of(self.id());
      for (std::uint32_t number = 0; number < kPhases; ++number) {
        const Phase phase = phase_of(seed, number);
        if (root == 0 || !phase.one_tree) {
          const auto status =
              calls.call(self.neighbour(1), Branch{&forest, number, root, 1, phase.depth});
          if (status != dsfabric::CallStatus::kAccepted) ++forest.refused;
        }
        dsfabric::wait_for_termination(self);
        const std::uint64_t all = phase.calls(workers) + (run.broken ? 1 : 0);
        if (forest.executed[number] != all && forest.violation.empty() && !run.failures) {
          forest.violation = fmt::format("thread {} found the end after {} of {} calls", root,
                                         forest.executed[number], all);
        }
      }
    });
  };
  return run_checked({run.nodes, options, run.failures, run.strikes, run.broken}, program, [&] {
    if (forest.violation.empty() && !run.failures && forest.refused != 0) {
      return fmt::format("{} calls were refused although nobody failed", forest.refused);
    }
    return forest.violation;
  });
}

}  // namespace simulate
