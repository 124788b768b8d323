// SPDX-License-Identifier: MIT
// Measures SST among processes of one host.
#include "bench/sst/cases.hpp"

int main(int argc, char** argv) {
  std::string device = "shm";
  sst_bench::NodePtr node;
  bench::Suite suite(argc, argv, "sst_bench", "shared state, predicates and triggers");
  suite.processes(sst_bench::kProcesses);
  suite.option("--device", device, "Device to measure, as dtutils::open_device knows it");
  suite.setup(
      [&](bench::Channel& channel) { node = std::make_unique<sst_bench::Node>(channel, device); });
  suite.teardown([&](bench::Channel&) { node.reset(); });
  sst_bench::add_detect_cases(suite, node);
  sst_bench::add_evaluation_cases(suite);
  sst_bench::add_push_cases(suite, node);
  sst_bench::add_counting_cases(suite, node);
  sst_bench::add_routing_cases(suite, node);
  return suite.run();
}
