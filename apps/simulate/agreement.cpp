// SPDX-License-Identifier: MIT
// Workload agreement: the same decisions in the same order, whoever fails.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "dtutils/wait.hpp"
#include "sst/sst.hpp"
#include "workloads.hpp"

namespace simulate {
namespace {

constexpr std::size_t kDecisions = 15;

}  // namespace

Outcome run_agreement(const Run& run) {
  std::vector<std::vector<std::uint64_t>> decided(run.nodes);
  const auto program = [&](dsfabric::Fabric& fabric) {
    const std::uint32_t me = fabric.process().value;
    sst::TableGroup group{fabric};
    sst::Agreement<std::uint64_t> agreement(
        group, {}, [&](std::uint64_t, const std::uint64_t& value) {
          // A node that was taken for dead, and was woken after the run, decides nothing.
          if (!dtutils::Simulation::current()->crashed(me)) {
            decided[me].push_back(run.broken && me == 1 ? value + 1 : value);
          }
        });
    dtutils::Deadline deadline(kLimit);
    dtutils::Backoff backoff;
    std::uint64_t next = 1;
    while (decided[me].size() < kDecisions && !deadline.passed()) {
      if (agreement.state() == sst::AgreementState::kRemoved) break;
      if (agreement.leads() && agreement.idle()) agreement.propose(me * 1'000 + next++);
      agreement.evaluate() ? backoff.reset() : backoff.pause();
    }
  };
  return run_checked(run, program, [&] {
    for (std::uint32_t one = 0; one < run.nodes; ++one) {
      if (!run.failures && decided[one].size() < kDecisions) {
        return fmt::format("node {} has {} decisions of {}", one, decided[one].size(), kDecisions);
      }
      for (std::uint32_t other = 0; other < one; ++other) {
        const std::size_t both = std::min(decided[one].size(), decided[other].size());
        for (std::size_t i = 0; i < both; ++i) {
          if (decided[one][i] == decided[other][i]) continue;
          return fmt::format("decision {} is {} at node {} and {} at node {}", i, decided[one][i],
                             one, decided[other][i], other);
        }
      }
    }
    return std::string();
  });
}

}  // namespace simulate
