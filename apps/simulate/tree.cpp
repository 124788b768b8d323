// SPDX-License-Identifier: MIT
// Workload tree: calls that call, and the detection of their end.
#include <fmt/format.h>

#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "workloads.hpp"

namespace simulate {
namespace {

constexpr std::uint32_t kDepth = 5;
constexpr std::uint64_t kCallsOfATree = (1u << (kDepth + 1)) - 1;

/// What ran; the nodes share it.
struct Forest {
  std::uint64_t executed = 0;
  std::uint64_t refused = 0;
  /// By name of the call.
  std::vector<std::uint8_t> runs;
  std::string violation;
};

/// Runs, and calls two more on nodes that its name chooses.
struct Branch {
  Forest* forest;
  std::uint32_t root;
  /// 1 for the root, 2n and 2n + 1 for the children of n.
  std::uint32_t place;
  std::uint32_t depth;

  void operator()(dsfabric::CallContext& call) const {
    ++forest->executed;
    if (++forest->runs[root * (kCallsOfATree + 1) + place] != 1 && forest->violation.empty()) {
      forest->violation = fmt::format("call {} of tree {} ran twice", place, root);
    }
    if (depth == 0) return;
    dsfabric::SendChannel calls(call.fabric);
    for (const std::uint32_t child : {2 * place, 2 * place + 1}) {
      const std::uint32_t to = (root + child * 2654435761u) % call.fabric.total_threads();
      const auto status =
          calls.call(call.fabric.thread_of_rank(to), Branch{forest, root, child, depth - 1});
      if (status != dsfabric::CallStatus::kAccepted) ++forest->refused;
    }
  }
};

}  // namespace

Outcome run_tree(const Run& run) {
  Forest forest;
  forest.runs.resize(run.nodes * (kCallsOfATree + 1));
  const std::uint64_t all = run.nodes * kCallsOfATree + (run.broken ? 1 : 0);
  const auto program = [&](dsfabric::Fabric& fabric) {
    fabric.run([&](dsfabric::Thread& self) {
      dsfabric::SendChannel calls(self.fabric());
      const std::uint32_t root = self.id().process.value;
      const auto status = calls.call(self.neighbour(1), Branch{&forest, root, 1, kDepth});
      if (status != dsfabric::CallStatus::kAccepted) ++forest.refused;
      dsfabric::wait_for_termination(self);
      if (forest.executed != all && forest.violation.empty() && !run.failures) {
        forest.violation =
            fmt::format("node {} found the end after {} of {} calls", root, forest.executed, all);
      }
    });
  };
  return run_checked(run, program, [&] {
    if (forest.violation.empty() && !run.failures && forest.refused != 0) {
      return fmt::format("{} calls were refused although nobody failed", forest.refused);
    }
    return forest.violation;
  });
}

}  // namespace simulate
