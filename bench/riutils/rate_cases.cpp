// SPDX-License-Identifier: MIT
// Calls a second: aggregated beside a ring made by hand, alone beside raw writes.
#include <memory>

#include "bench/riutils/cases.hpp"
#include "bench/riutils/raw_writes.hpp"
#include "bench/riutils/stream.hpp"

namespace ring_bench {
namespace {

using dsfabric::Thread;
using fabric_bench::NodePtr;
using riutils::AggregatorOptions;
using riutils::RDMAAggregator;
using riutils::RDMAMessengerGlobal;

const auto kMessenger = [](Thread& self) { return std::make_unique<RDMAMessengerGlobal>(self); };
const auto kTraditional = [](Thread& self) { return std::make_unique<RDMAAggregator>(self); };
const auto kOverflow = [](Thread& self) {
  return std::make_unique<RDMAAggregator>(
      self, AggregatorOptions{.mode = AggregatorOptions::Mode::kOverflow});
};

/// What is asked of calls of one size, on near cores and on far ones.
struct Bars {
  const char* aggregated;
  const char* mixed;
  const char* rate;
  const char* read;
};
constexpr const char* kFarBar = ">= 0.8";

template <std::size_t kBytes>
void add_rates_of_size(bench::Suite& suite, const NodePtr& node, const HandRing& ring,
                       const Bars& bars) {
  const auto add = [&](const char* name, bench::Variant over, bench::Variant under, const char* bar,
                       const char* far_bar) {
    const bench::Ratio ratio{
        .over = over.name, .under = under.name, .bar = bar, .far_bar = far_bar};
    suite.add({.name = name,
               .size = kBytes,
               .unit = bench::Unit::kPerSecond,
               .variants = {std::move(over), std::move(under)},
               .ratios = {ratio}});
  };
  add("aggregated_vs_ring", calling<kBytes, 0>("aggregated", node, kTraditional),
      by_hand<kBytes>(ring), bars.aggregated, kFarBar);
  add("aggregated_mixed_vs_ring", calling<kBytes, 0, 1>("aggregated", node, kTraditional),
      by_hand<kBytes>(ring), bars.mixed, "");
  suite.add({.name = "messenger_rate",
             .size = kBytes,
             .unit = bench::Unit::kPerSecond,
             .variants = {calling<kBytes, 0>("calls", node, kMessenger, bars.rate)}});
  add("messenger_vs_read", calling<kBytes, 0>("calls", node, kMessenger),
      raw_writes<kBytes, Reader::kRests>("read_writes", node), bars.read, kFarBar);
  add("overflow_vs_messenger", calling<kBytes, 0>("overflow", node, kOverflow),
      calling<kBytes, 0>("messenger", node, kMessenger), ">= 0.95", "");
}

/// The receiver's core takes all lines of a call, not only those of its first word and its header.
template <std::size_t kBytes>
void add_reading(bench::Suite& suite, const NodePtr& node) {
  suite.add({.name = "read_all",
             .size = kBytes,
             .unit = bench::Unit::kPerSecond,
             .variants = {calling<kBytes, kReadsAll>("aggregated", node, kTraditional),
                          calling<kBytes, kReadsAll>("messenger", node, kMessenger)}});
}

}  // namespace

void add_rate_cases(bench::Suite& suite, const NodePtr& node, const HandRing& ring) {
  add_rates_of_size<8>(suite, node, ring, {">= 1.4", ">= 0.7", ">= 50e6", ">= 0.95"});
  add_rates_of_size<64>(suite, node, ring, {">= 1.0", ">= 0.75", ">= 45e6", ">= 0.95"});
  add_rates_of_size<256>(suite, node, ring, {">= 0.8", ">= 0.45", ">= 35e6", ">= 0.9"});
  add_reading<64>(suite, node);
  add_reading<256>(suite, node);
}

}  // namespace ring_bench
