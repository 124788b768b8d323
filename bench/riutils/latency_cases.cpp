// SPDX-License-Identifier: MIT
// How long one call takes, and one with a result.
#include "riutils/cases.hpp"
#include "riutils/stream.hpp"

namespace ring_bench {
namespace {

using dsfabric::Thread;
using riutils::RDMAMessengerGlobal;

/// Process 0 calls, process 1 calls back, both this often.
double ping_pong(Thread& self, bench::Batch& batch) {
  RDMAMessengerGlobal messenger(self);
  const dsfabric::ThreadId to = self.neighbour(1);
  const bool starts = batch.rank() == 0;
  std::uint64_t expected = 0;
  const double took_ns = bench::time_ns([&] {
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      ++expected;
      if (!starts) serve_until(self, [&] { return arrived().calls == expected; });
      require(messenger.call(to, Payload<8, 0>{{i}}), "the peer is gone");
      if (starts) serve_until(self, [&] { return arrived().calls == expected; });
    }
  });
  arrived() = {};
  return took_ns / static_cast<double>(2 * batch.iterations());
}

/// Process 1 serves until it is told to stop. Half of a call and its result, in ns.
double ask(Thread& self, bench::Batch& batch) {
  RDMAMessengerGlobal messenger(self);
  const dsfabric::ThreadId to = self.neighbour(1);
  if (batch.rank() != 0) {
    serve_until(self, [] { return arrived().acknowledged != 0; });
    arrived() = {};
    return 0;
  }
  dsfabric::ReturnSlot<std::uint64_t> slot(self.fabric());
  const double ns = batch.ns_each([&] {
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      require(messenger.call_return(
                  to, [i] { return i + 1; }, slot),
              "the peer is gone");
      require(slot.get() == i + 1, "a wrong result");
    }
  });
  require(messenger.call(to, [] { arrived().acknowledged = 1; }), "the peer is gone");
  return ns / 2;
}

}  // namespace

void add_latency_cases(bench::Suite& suite, const fabric_bench::NodePtr& node) {
  const auto one_way = fabric_bench::on_worker(node, ping_pong);
  suite.add({.name = "call_latency_vs_cacheline",
             .size = 8,
             .variants = {{.name = "one_way", .measure = one_way, .assist = one_way}},
             .ratios = {{.over = "one_way", .under = bench::kHalfRoundTrip, .bar = "<= 1.6"}}});
  const auto result = fabric_bench::on_worker(node, ask);
  suite.add(
      {.name = "call_return_vs_cacheline",
       .size = 8,
       .variants = {{.name = "half_of_call", .measure = result, .assist = result}},
       .ratios = {{.over = "half_of_call", .under = bench::kHalfRoundTrip, .bar = "<= 1.8"}}});
}

}  // namespace ring_bench
