// SPDX-License-Identifier: MIT
// Calls by messages: how long one takes, how many a second, and how long a result takes.
#include <array>
#include <stdexcept>

#include "dsfabric/cases.hpp"

namespace fabric_bench {
namespace {

using dsfabric::SendChannel;
using dsfabric::Thread;

/// What calls change in the process where they run; its worker only.
struct Arrived {
  std::uint64_t calls = 0;
  std::uint64_t sum = 0;
  std::uint64_t acknowledged = 0;
};
Arrived& arrived() {
  static Arrived here;
  return here;
}

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

template <class Done>
void serve_until(Thread& self, Done&& done) {
  while (!done()) self.progress();
}

/// Process 0 calls, process 1 calls back, both this often.
double ping_pong(Thread& self, bench::Batch& batch) {
  SendChannel calls(self.fabric());
  const dsfabric::ThreadId to = self.neighbour(1);
  const bool starts = batch.rank() == 0;
  std::uint64_t expected = 0;
  const double took_ns = bench::time_ns([&] {
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      ++expected;
      if (!starts) serve_until(self, [&] { return arrived().calls == expected; });
      require(calls.call(to, [i] { ++arrived().calls, arrived().sum += i; }), "the peer is gone");
      if (starts) serve_until(self, [&] { return arrived().calls == expected; });
    }
  });
  arrived() = {};
  return took_ns / static_cast<double>(2 * batch.iterations());
}

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

/// Process 1 serves until it is told to stop.
double ask(Thread& self, bench::Batch& batch) {
  SendChannel calls(self.fabric());
  const dsfabric::ThreadId to = self.neighbour(1);
  if (batch.rank() != 0) {
    serve_until(self, [] { return arrived().acknowledged != 0; });
    arrived() = {};
    return 0;
  }
  dsfabric::ReturnSlot<std::uint64_t> slot(self.fabric());
  const double ns = batch.ns_each([&] {
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      require(calls.call_return(
                  to, [i] { return i + 1; }, slot),
              "the peer is gone");
      require(slot.get() == i + 1, "a wrong result");
    }
  });
  require(calls.call(to, [] { arrived().acknowledged = 1; }), "the peer is gone");
  return ns / 2;
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
  const auto latency = on_worker(node, ping_pong);
  suite.add(
      {.name = "send_call_latency",
       .size = 8,
       .variants = {{.name = "one_way", .measure = latency, .assist = latency, .bar = "<= 250"}}});
  add_rate_case<8>(suite, node, ">= 5e6");
  add_rate_case<64>(suite, node, "");
  add_rate_case<256>(suite, node, "");
  const auto call_return = on_worker(node, ask);
  suite.add({.name = "call_return_vs_cacheline",
             .size = 8,
             .variants = {{.name = "half_of_call", .measure = call_return, .assist = call_return}},
             .ratios = {{.over = "half_of_call", .under = bench::kHalfRoundTrip, .bar = "<= 5"}}});
}

}  // namespace fabric_bench
