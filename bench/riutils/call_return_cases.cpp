// SPDX-License-Identifier: MIT
// Calls with results, many in flight, made by both processes at once.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "bench/fabric/calls.hpp"
#include "bench/riutils/cases.hpp"
#include "riutils/riutils.hpp"

namespace ring_bench {
namespace {

using dsfabric::Thread;
using enum dsfabric::CallStatus;
using fabric_bench::NodePtr;
using fabric_bench::require;
using fabric_bench::serve_until;

/// What the handlers of a worker answer with.
constexpr std::uint64_t kAdded = 3;

template <std::size_t kInFlight>
std::uint64_t rounded(std::uint64_t calls) {
  return (calls + kInFlight - 1) / kInFlight * kInFlight;
}

/// Groups of kInFlight call_returns, of which `ask(place, i)` makes number i; its result is awaited
/// at its place among `results`. The rate of one process.
template <std::size_t kInFlight, class Channel, class Results, class Ask>
double ask_in_groups(Thread& self, bench::Batch& batch, Channel& channel, Results& results,
                     Ask ask) {
  const std::uint64_t calls = rounded<kInFlight>(batch.iterations());
  bool sent = true;
  std::uint64_t sum = 0;
  self.barrier();
  const double ns = batch.time_ns([&] {
    for (std::uint64_t i = 0; i < calls; i += kInFlight) {
      for (std::uint64_t j = 0; j < kInFlight; ++j) sent = ask(results[j], i + j) && sent;
      if constexpr (requires { channel.flush(); }) (void)channel.flush();
      for (auto& each : results) sum += each.get();
    }
    self.barrier();
  });
  require(sent, "a call was refused");
  require(sum == calls * (calls - 1) / 2 + calls * kAdded, "a wrong result");
  return static_cast<double>(calls) * 1e9 / ns;
}

/// Results come into slots, which are used again and again.
template <std::size_t kInFlight, class MakeChannel>
double ask_many(Thread& self, bench::Batch& batch, MakeChannel make_channel) {
  auto channel = make_channel(self);
  std::deque<dsfabric::ReturnSlot<std::uint64_t>> slots;
  for (std::size_t i = 0; i < kInFlight; ++i) slots.emplace_back(self.fabric());
  return ask_in_groups<kInFlight>(self, batch, channel, slots,
                                  [&, to = self.neighbour(1)](auto& slot, std::uint64_t i) {
                                    return channel.call_return(
                                               to, [i] { return i + kAdded; }, slot) == kAccepted;
                                  });
}

/// Each result comes in a future of its own.
template <std::size_t kInFlight>
double ask_many_futures(Thread& self, bench::Batch& batch) {
  riutils::RDMAAggregator channel(self);
  std::array<dsfabric::RemoteFuture<std::uint64_t>, kInFlight> futures;
  return ask_in_groups<kInFlight>(self, batch, channel, futures,
                                  [&, to = self.neighbour(1)](auto& future, std::uint64_t i) {
                                    future = channel.call_return(to, [i] { return i + kAdded; });
                                    return future.status() == kAccepted;
                                  });
}

struct Answers {
  riutils::RDMAAggregator* back = nullptr;
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  bool sent = true;
};
Answers& answers() noexcept {
  static thread_local Answers mine;
  return mine;
}

/// The same job by two calls each, without slots: groups of kInFlight, or all at once (0).
template <std::size_t kInFlight>
double call_back(Thread& self, bench::Batch& batch) {
  const dsfabric::ThreadId to = self.neighbour(1);
  constexpr std::size_t kGroup = std::max<std::size_t>(kInFlight, 1);
  const std::uint64_t calls = rounded<kGroup>(batch.iterations());
  riutils::RDMAAggregator aggregator(self);
  answers() = {.back = &aggregator};
  bool sent = true;
  self.barrier();
  const double ns = batch.time_ns([&] {
    for (std::uint64_t i = 0; i < calls; i += kGroup) {
      for (std::uint64_t j = 0; j < kGroup; ++j) {
        sent = aggregator.call(to,
                               [at = i + j, from = self.id()] {
                                 const auto answer = [value = at + kAdded] {
                                   ++answers().count;
                                   answers().sum += value;
                                 };
                                 answers().sent = answers().back->call(from, answer) == kAccepted &&
                                                  answers().sent;
                               }) == kAccepted &&
               sent;
      }
      if constexpr (kInFlight != 0) {
        (void)aggregator.flush();
        serve_until(self, [&] { return answers().count == i + kGroup; });
      }
    }
    riutils::wait_for_termination(self);
  });
  require(sent && answers().sent, "a call was refused");
  require(answers().sum == calls * (calls - 1) / 2 + calls * kAdded, "a wrong result");
  return static_cast<double>(calls) * 1e9 / ns;
}

template <class Work>
bench::Variant both(const std::string& name, const NodePtr& node, Work work,
                    const std::string& bar = "") {
  const auto run = fabric_bench::on_worker(node, work);
  return {.name = name, .measure = run, .assist = run, .bar = bar};
}

template <std::size_t kInFlight, class MakeChannel>
bench::Variant asking(const std::string& name, const NodePtr& node, MakeChannel make_channel,
                      const std::string& bar) {
  return both(
      name, node,
      [=](Thread& self, bench::Batch& batch) {
        return ask_many<kInFlight>(self, batch, make_channel);
      },
      bar);
}

template <std::size_t kInFlight>
void add_case(bench::Suite& suite, const NodePtr& node, const std::string& bar,
              const std::string& message_bar) {
  constexpr bool kMany = kInFlight == 64;
  suite.add({.name = "call_return_rate",
             .size = kInFlight,
             .unit = bench::Unit::kPerSecond,
             .variants = {asking<kInFlight>(
                              "aggregated", node,
                              [](Thread& self) { return riutils::RDMAAggregator(self); }, bar),
                          both("futures", node, ask_many_futures<kInFlight>),
                          asking<kInFlight>(
                              "messenger", node,
                              [](Thread& self) { return riutils::RDMAMessengerGlobal(self); }, ""),
                          asking<kInFlight>(
                              "messages", node,
                              [](Thread& self) { return dsfabric::SendChannel(self.fabric()); },
                              message_bar),
                          both("two_calls", node, call_back<kInFlight>),
                          both("two_calls_at_once", node, call_back<0>)},
             .ratios = {{.over = "aggregated", .under = "two_calls", .bar = kMany ? ">= 0.35" : ""},
                        {.over = "aggregated", .under = "two_calls_at_once"},
                        {.over = "futures", .under = "aggregated", .bar = kMany ? ">= 0.9" : ""}}});
}

}  // namespace

void add_call_return_cases(bench::Suite& suite, const NodePtr& node) {
  add_case<1>(suite, node, ">= 0.8e6", "");
  add_case<16>(suite, node, ">= 8e6", "");
  add_case<64>(suite, node, ">= 20e6", ">= 4e6");
}

}  // namespace ring_bench
