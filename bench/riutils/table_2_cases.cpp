// SPDX-License-Identifier: MIT
// Table 2 of Seriema's paper: calls a second by each way; and UCX's active messages.
#include <unistd.h>

#include <memory>
#include <string>

#include "riutils/cases.hpp"
#include "riutils/raw_writes.hpp"
#include "riutils/stream.hpp"

namespace ring_bench {
namespace {

using dsfabric::Thread;
using fabric_bench::NodePtr;
using riutils::AggregatorOptions;
using riutils::RDMAAggregator;
using riutils::RDMAMessengerGlobal;

/// Debian's ucx_perftest over shared memory; `pattern` finds the figure in its last line.
bench::Variant ucx_am(const char* test, std::size_t size, const char* pattern, double scale) {
  return {.name = "ucx_am", .measure = [=](bench::Batch& batch) {
            // Two benches at a time on one machine must not meet.
            const std::string port = std::to_string(20000 + ::getpid() % 20000);
            const std::string iterations = batch.smoke() ? "10000" : "500000";
            return bench::run_external({.program = "ucx_perftest",
                                        .server = {"-p", port},
                                        .client = {"localhost", "-p", port, "-t", test, "-s",
                                                   std::to_string(size), "-n", iterations},
                                        .environment = {{"UCX_TLS", "shm"}},
                                        .pattern = pattern,
                                        .scale = scale},
                                       batch.channel().cores());
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
                 ucx_am("ucp_am_bw", kBytes, R"(Final:(?:\s+\S+){7}\s+(\S+))", 1.0)}});
}

}  // namespace

void add_table_2_cases(bench::Suite& suite, const NodePtr& node) {
  add_size<8>(suite, node);
  add_size<64>(suite, node);
  add_size<256>(suite, node);
  suite.add({.name = "ucx_am_latency",
             .size = 8,
             .variants = {ucx_am("ucp_am_lat", 8, R"(Final:(?:\s+\S+){3}\s+(\S+))", 1e3)}});
}

}  // namespace ring_bench
