// SPDX-License-Identifier: MIT
// An empty barrier of two processes beside the round trip of a cache line.
#include "bench/dsfabric/cases.hpp"

namespace fabric_bench {

void add_barrier_cases(bench::Suite& suite, const NodePtr& node) {
  const auto run = on_worker(node, [](dsfabric::Thread& self, bench::Batch& batch) {
    return batch.ns_each([&] {
      for (std::uint64_t i = 0; i < batch.iterations(); ++i) self.barrier();
    }) / 2;
  });
  suite.add(
      {.name = "barrier_vs_cacheline",
       .size = 2,
       .variants = {{.name = "half_of_barrier", .measure = run, .assist = run}},
       .ratios = {{.over = "half_of_barrier", .under = bench::kHalfRoundTrip, .bar = "<= 1.5"}}});
}

}  // namespace fabric_bench
