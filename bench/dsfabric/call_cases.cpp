// SPDX-License-Identifier: MIT
// Calls by messages: how long one takes, how many a second, and how long a result takes.
#include <array>
#include <utility>

#include "bench/dsfabric/cases.hpp"
#include "bench/fabric/calls.hpp"

namespace fabric_bench {
namespace {

using dsfabric::SendChannel;
using dsfabric::Thread;

const auto kMessages = [](Thread& self) { return SendChannel(self.fabric()); };

template <std::size_t kBytes>
double stream(Thread& self, bench::Batch& batch) {
  SendChannel calls(self.fabric());
  const dsfabric::ThreadId to = self.neighbour(1);
  if (batch.rank() != 0) {
    serve_until(self, [&] { return arrived().calls >= batch.iterations(); });
    const std::uint64_t sum = std::exchange(arrived(), {}).sum;
    require(calls.call(to, [sum] { arrived().acknowledged = sum + 1; }), "the peer is gone");
    return 0;
  }
  std::uint64_t sum = 0;
  const double rate = batch.per_second([&] {
    std::array<std::uint64_t, kBytes / 8> payload{};
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      payload.back() = i;
      sum += i;
      require(calls.call(to, [payload] { ++arrived().calls, arrived().sum += payload.back(); }),
              "the peer is gone");
    }
    serve_until(self, [&] { return arrived().acknowledged != 0; });
  });
  const std::uint64_t counted = std::exchange(arrived(), {}).acknowledged - 1;
  require(counted == sum, "calls were lost or changed on their way");
  return rate;
}

/// Each process calls itself and the other in turn, both at once, until all calls have run. The
/// rate of one process.
double mixed(Thread& self, bench::Batch& batch) {
  SendChannel calls(self.fabric());
  const std::array to{self.id(), self.neighbour(1)};
  const std::uint64_t each = (batch.iterations() + 1) / 2;
  arrived() = {};
  self.barrier();
  const double ns = batch.time_ns([&] {
    for (std::uint64_t i = 0; i < 2 * each; ++i) {
      require(calls.call(to[i % 2], Ping{i}), "the peer is gone");
    }
    // As many as this process has made: half of them by itself, half by the other.
    serve_until(self, [&] { return arrived().calls >= 2 * each; });
    self.barrier();
  });
  const std::uint64_t sum = std::exchange(arrived(), {}).sum;
  require(sum == each * (2 * each - 1), "calls were lost or changed on their way");
  return static_cast<double>(2 * each) * 1e9 / ns;
}

template <std::size_t kBytes>
void add_rate_case(bench::Suite& suite, const NodePtr& node, const char* bar) {
  const auto run = on_worker(node, stream<kBytes>);
  suite.add({.name = "send_call_rate",
             .size = kBytes,
             .unit = bench::Unit::kPerSecond,
             .variants = {{.name = "calls", .measure = run, .assist = run, .bar = bar}}});
}

}  // namespace

void add_call_cases(bench::Suite& suite, const NodePtr& node) {
  const auto latency = on_worker(node, ping_pong(kMessages));
  suite.add(
      {.name = "send_call_latency",
       .size = 8,
       .variants = {{.name = "one_way", .measure = latency, .assist = latency, .bar = "<= 250"}}});
  add_rate_case<8>(suite, node, ">= 5e6");
  add_rate_case<64>(suite, node, "");
  add_rate_case<256>(suite, node, "");
  const auto in_turn = on_worker(node, mixed);
  suite.add(
      {.name = "send_call_rate_mixed",
       .size = 8,
       .unit = bench::Unit::kPerSecond,
       .variants = {{.name = "calls", .measure = in_turn, .assist = in_turn, .bar = ">= 3e6"}}});
  const auto call_return = on_worker(node, ask(kMessages));
  suite.add({.name = "call_return_vs_cacheline",
             .size = 8,
             .variants = {{.name = "half_of_call", .measure = call_return, .assist = call_return}},
             .ratios = {{.over = "half_of_call", .under = bench::kHalfRoundTrip, .bar = "<= 5"}}});
}

}  // namespace fabric_bench
