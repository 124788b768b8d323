// SPDX-License-Identifier: MIT
// Measures DTutils between two processes on one device.
#include "bench/dtutils/cases.hpp"

int main(int argc, char** argv) {
  std::string device = "shm";
  link_bench::EndsPtr ends;
  bench::Suite suite(argc, argv, "dtutils_bench", "queue pairs and Transmitters on one device");
  suite.option("--device", device, "Device to measure, as dtutils::open_device knows it");
  suite.setup(
      [&](bench::Channel& channel) { ends = std::make_unique<link_bench::Ends>(channel, device); });
  suite.teardown([&](bench::Channel& channel) {
    channel.barrier();  // nobody breaks a queue pair that the other one still uses
    ends.reset();
  });
  link_bench::add_rate_cases(suite, ends);
  link_bench::add_latency_cases(suite, ends);
  link_bench::add_memcpy_cases(suite, ends);
  link_bench::add_thread_cases(suite, ends);
  return suite.run();
}
