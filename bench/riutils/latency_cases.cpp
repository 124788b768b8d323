// SPDX-License-Identifier: MIT
// How long one call takes, and one with a result.
#include "bench/fabric/calls.hpp"
#include "bench/riutils/cases.hpp"
#include "riutils/riutils.hpp"

namespace ring_bench {
namespace {

using dsfabric::Thread;

const auto kMessengerItself = [](Thread& self) { return riutils::RDMAMessengerGlobal(self); };

}  // namespace

void add_latency_cases(bench::Suite& suite, const fabric_bench::NodePtr& node) {
  const auto one_way = fabric_bench::on_worker(node, fabric_bench::ping_pong(kMessengerItself));
  suite.add({.name = "call_latency_vs_cacheline",
             .size = 8,
             .variants = {{.name = "one_way", .measure = one_way, .assist = one_way}},
             .ratios = {{.over = "one_way", .under = bench::kHalfRoundTrip, .bar = "<= 1.6"}}});
  const auto result = fabric_bench::on_worker(node, fabric_bench::ask(kMessengerItself));
  suite.add(
      {.name = "call_return_vs_cacheline",
       .size = 8,
       .variants = {{.name = "half_of_call", .measure = result, .assist = result}},
       .ratios = {{.over = "half_of_call", .under = bench::kHalfRoundTrip, .bar = "<= 1.8"}}});
}

}  // namespace ring_bench
