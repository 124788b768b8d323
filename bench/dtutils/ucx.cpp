// SPDX-License-Identifier: MIT
// Running ucx_perftest.
#include "ucx.hpp"

#include <unistd.h>

#include <string>

namespace link_bench {
namespace {

double run(const Ends& ends, const bench::Batch& batch, const char* test, std::uint32_t size,
           const char* pattern, double scale) {
  if (ends.link.device->info().kind != dtutils::DeviceKind::kShm) {
    throw bench::Skip("compared with the shm device only");
  }
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
}

}  // namespace

// The line reads: Final: iterations, three latencies in us (median, average, overall), two
// bandwidths, two rates in 1/s (average, overall). "Overall" is the mean, as our figures are.

bench::Variant ucx_put_latency(const EndsPtr& ends, std::uint32_t size) {
  return {.name = "ucx_put", .measure = [&ends, size](bench::Batch& batch) {
            return run(*ends, batch, "ucp_put_lat", size, R"(Final:(?:\s+\S+){3}\s+(\S+))", 1e3);
          }};
}

bench::Variant ucx_put_rate(const EndsPtr& ends, std::uint32_t size) {
  return {.name = "ucx_put", .measure = [&ends, size](bench::Batch& batch) {
            return run(*ends, batch, "ucp_put_bw", size, R"(Final:(?:\s+\S+){7}\s+(\S+))", 1.0);
          }};
}

}  // namespace link_bench
