// SPDX-License-Identifier: MIT
// Table 2 of Seriema's paper: calls a second by each way; and UCX's active messages.
#include <memory>

#include "bench/harness/ucx.hpp"
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

bench::Variant ucx_am(const char* test, std::size_t size, const char* pattern, double scale) {
  return {.name = "ucx_am", .measure = [=](bench::Batch& batch) {
            return bench::run_ucx(batch, test, size, pattern, scale);
          }};
}

template <std::size_t kBytes>
void add_size(bench::Suite& suite, const NodePtr& node) {
  const auto send = [](Thread& self) {
    return std::make_unique<dsfabric::SendChannel>(self.fabric());
  };
  const auto write = [](Thread& self) { return std::make_unique<RDMAMessengerGlobal>(self); };
  const auto trad = [](Thread& self) { return std::make_unique<RDMAAggregator>(self); };
  const auto ovfl = [](Thread& self) {
    return std::make_unique<RDMAAggregator>(
        self, AggregatorOptions{.mode = AggregatorOptions::Mode::kOverflow});
  };
  suite.add({.name = "table_2",
             .size = kBytes,
             .unit = bench::Unit::kPerSecond,
             .variants = {
                 calling<kBytes, 0>("send", node, send), calling<kBytes, 0>("write", node, write),
                 calling<kBytes, 0>("trad", node, trad), calling<kBytes, 0>("ovfl", node, ovfl),
                 raw_writes<kBytes>("max_raw", node),
                 ucx_am("ucp_am_bw", kBytes, bench::kUcxRate, 1.0)}});
}

}  // namespace

void add_table_2_cases(bench::Suite& suite, const NodePtr& node) {
  add_size<8>(suite, node);
  add_size<64>(suite, node);
  add_size<256>(suite, node);
  suite.add({.name = "ucx_am_latency",
             .size = 8,
             .variants = {ucx_am("ucp_am_lat", 8, bench::kUcxLatency, bench::kUcxLatencyScale)}});
}

}  // namespace ring_bench
