// SPDX-License-Identifier: MIT
// Running ucx_perftest.
#include "bench/harness/ucx.hpp"

#include <unistd.h>

#include <string>

#include "bench/harness/channel.hpp"
#include "bench/harness/external.hpp"

namespace bench {

double run_ucx(const Batch& batch, const char* test, std::uint64_t size, const char* pattern,
               double scale) {
  // Two benches at a time on one machine must not meet.
  const std::string port = std::to_string(20000 + ::getpid() % 20000);
  const std::string iterations = batch.smoke() ? "10000" : "500000";
  return run_external({.program = "ucx_perftest",
                       .server = {"-p", port},
                       .client = {"localhost", "-p", port, "-t", test, "-s", std::to_string(size),
                                  "-n", iterations},
                       .environment = {{"UCX_TLS", "shm"}},
                       .pattern = pattern,
                       .scale = scale},
                      batch.channel().cores());
}

}  // namespace bench
