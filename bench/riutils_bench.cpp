// SPDX-License-Identifier: MIT
// Measures RIutils between two processes on one device.
#include "bench/riutils/cases.hpp"

int main(int argc, char** argv) {
  std::string device = "shm";
  fabric_bench::NodePtr node;
  fabric_bench::NodePtr four;
  const ring_bench::HandRing ring;
  bench::Suite suite(argc, argv, "riutils_bench",
                     "calls by one-sided writes, alone and aggregated");
  suite.option("--device", device, "Device to measure, as dtutils::open_device knows it");
  suite.setup([&](bench::Channel& channel) {
    node = std::make_unique<fabric_bench::Node>(channel, device);
    four = std::make_unique<fabric_bench::Node>(channel, device, 2);
  });
  suite.teardown([&](bench::Channel&) {
    four.reset();
    node.reset();
  });
  ring_bench::add_rate_cases(suite, node, ring);
  ring_bench::add_all_to_all_case(suite, node, four);
  ring_bench::add_table_2_cases(suite, node);
  ring_bench::add_latency_cases(suite, node);
  ring_bench::add_call_return_cases(suite, node);
  ring_bench::add_fiber_cases(suite, node);
  return suite.run();
}
