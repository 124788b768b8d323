// SPDX-License-Identifier: MIT
// UCX's puts, where they can be compared with ours.
#include "bench/dtutils/ucx.hpp"

#include "bench/harness/ucx.hpp"

namespace link_bench {
namespace {

double run(const Ends& ends, const bench::Batch& batch, const char* test, std::uint32_t size,
           const char* pattern, double scale) {
  if (ends.link.device->info().kind != dtutils::DeviceKind::kShm) {
    throw bench::Skip("compared with the shm device only");
  }
  return bench::run_ucx(batch, test, size, pattern, scale);
}

}  // namespace

bench::Variant ucx_put_latency(const EndsPtr& ends, std::uint32_t size) {
  return {.name = "ucx_put", .measure = [&ends, size](bench::Batch& batch) {
            return run(*ends, batch, "ucp_put_lat", size, bench::kUcxLatency,
                       bench::kUcxLatencyScale);
          }};
}

bench::Variant ucx_put_rate(const EndsPtr& ends, std::uint32_t size) {
  return {.name = "ucx_put", .measure = [&ends, size](bench::Batch& batch) {
            return run(*ends, batch, "ucp_put_bw", size, bench::kUcxRate, 1.0);
          }};
}

}  // namespace link_bench
