// SPDX-License-Identifier: MIT
// Measures multicast among processes of one host.
#include "bench/groups/cases.hpp"

int main(int argc, char** argv) {
  std::string device = "shm";
  groups_bench::NodePtr node;
  const ring_bench::HandRing ring;
  bench::Suite suite(argc, argv, "groups_bench", "multicast of small and of large messages");
  suite.processes(groups_bench::kProcesses);
  suite.option("--device", device, "Device to measure, as dtutils::open_device knows it");
  suite.setup(
      [&](bench::Channel& channel) { node = std::make_unique<sst_bench::Node>(channel, device); });
  suite.teardown([&](bench::Channel&) { node.reset(); });
  groups_bench::add_small_cases(suite, node, ring);
  groups_bench::add_bandwidth_cases(suite, node);
  groups_bench::add_atomic_cases(suite, node);
  groups_bench::add_crowd_cases(suite, node);
  groups_bench::add_large_cases(suite, node);
  groups_bench::add_view_cases(suite, node);
  groups_bench::add_log_cases(suite);
  return suite.run();
}
