// SPDX-License-Identifier: MIT
// Calls of all to all, gathered by destination.
#include "cases.hpp"
#include "riutils/riutils.hpp"
#include "together.hpp"

namespace scale {
namespace {

/// Calls to each other node.
constexpr std::uint32_t kCalls = 16;
/// On the wire: the callable is a pointer; they share a header.
constexpr std::uint32_t kBatchBytes = kCalls * sizeof(void*) + 8;

}  // namespace

std::vector<Point> measure_all_to_all(const Cluster& cluster) {
  Together all_to_all;
  std::vector<std::uint64_t> came(cluster.nodes);
  run(cluster, [&](dsfabric::Fabric& fabric) {
    fabric.run([&](dsfabric::Thread& self) {
      riutils::RDMAAggregator calls(self);
      const std::uint64_t a_round = std::uint64_t{cluster.nodes - 1} * kCalls;
      const std::uint64_t& mine = came[self.id().process.value];
      for (std::uint64_t i = 1; i <= cluster.repetitions + 1; ++i) {
        all_to_all.measure(self, [&] {
          for (std::uint32_t distance = 1; distance < cluster.nodes; ++distance) {
            const dsfabric::ThreadId to = self.neighbour(distance);
            std::uint64_t* const counter = &came[to.process.value];
            for (std::uint32_t j = 0; j < kCalls; ++j) {
              (void)calls.call(to, [counter] { ++*counter; });
            }
          }
          while (!calls.flush()) self.progress();
          serve_until(self, [&] { return mine == i * a_round; });
        });
      }
    });
  });
  const ClosedForm form(cluster.options.cluster.model, cluster.nodes);
  return {{"all_to_all", all_to_all.results(), form.all_to_all(kBatchBytes)}};
}

}  // namespace scale
