// SPDX-License-Identifier: MIT
// Measures DSfabric between two processes on one device.
#include "bench/dsfabric/cases.hpp"

int main(int argc, char** argv) {
  std::string device = "shm";
  fabric_bench::NodePtr node;
  bench::Suite suite(argc, argv, "dsfabric_bench", "calls by messages, barriers and start-up");
  suite.option("--device", device, "Device to measure, as dtutils::open_device knows it");
  suite.setup([&](bench::Channel& channel) {
    node = std::make_unique<fabric_bench::Node>(channel, device);
  });
  suite.teardown([&](bench::Channel&) { node.reset(); });
  fabric_bench::add_call_cases(suite, node);
  fabric_bench::add_barrier_cases(suite, node);
  fabric_bench::add_start_cases(suite);
  return suite.run();
}
