// SPDX-License-Identifier: MIT
// Measures the services above the layers between two processes of one host.
#include "bench/services/cases.hpp"

int main(int argc, char** argv) {
  std::string device = "shm";
  fabric_bench::NodePtr node;
  bench::Suite suite(argc, argv, "services_bench", "memory, locks, a hash table and monitoring");
  suite.option("--device", device, "Device to measure, as dtutils::open_device knows it");
  suite.setup([&](bench::Channel& channel) {
    node = std::make_unique<fabric_bench::Node>(channel, device);
  });
  suite.teardown([&](bench::Channel&) { node.reset(); });
  services_bench::add_lock_cases(suite, node, device);
  services_bench::add_memory_cases(suite, device);
  services_bench::add_hashtable_cases(suite, node);
  services_bench::add_monitoring_cases(suite, device);
  return suite.run();
}
