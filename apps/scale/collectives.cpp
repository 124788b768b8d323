// SPDX-License-Identifier: MIT
// Barrier, all_gather, broadcast and the detection of termination.
#include "cases.hpp"
#include "together.hpp"

namespace scale {

std::vector<Point> measure_collectives(const Cluster& cluster) {
  Together barrier;
  Together all_gather;
  Together broadcast;
  Together termination;
  std::vector<std::uint32_t> heard(cluster.nodes);
  run(cluster, [&](dsfabric::Fabric& fabric) {
    fabric.run([&](dsfabric::Thread& self) {
      dsfabric::SendChannel calls(self.fabric());
      const std::uint32_t me = self.id().process.value;
      for (std::uint32_t i = 0; i <= cluster.repetitions; ++i) {
        barrier.measure(self, [&] { self.barrier(); });
        all_gather.measure(self, [&] { (void)self.all_gather(std::uint64_t{me}); });
        broadcast.measure(self, [&] {
          if (me == 0) {
            (void)calls.broadcast([all = heard.data()](dsfabric::CallContext& call) {
              ++all[call.fabric.process().value];
            });
          }
          serve_until(self, [&] { return heard[me] > i; });
        });
        termination.measure(self, [&] { dsfabric::wait_for_termination(self); });
      }
    });
  });
  const ClosedForm form(cluster.options.cluster.model, cluster.nodes);
  return {{"barrier", barrier.results(), form.barrier()},
          {"all_gather", all_gather.results(), form.all_gather()},
          {"broadcast", broadcast.results(), form.broadcast()},
          {"termination", termination.results(), form.termination()}};
}

}  // namespace scale
