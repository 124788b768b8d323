// SPDX-License-Identifier: MIT
// Measures shared data and cooperative caches: what a web tier is made of.
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/webtier/cases.hpp"

namespace {

/// The number of processes is wanted before the command line is read.
int nodes_of(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--nodes") == 0) return std::atoi(argv[i + 1]);
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::string device = "shm";
  std::string nodes = "2";
  const int processes = nodes_of(argc, argv);
  bench::Suite suite(argc, argv, "webtier_bench", "shared data and cooperative caches");
  suite.processes(processes);
  suite.option("--device", device, "Device to measure, as dtutils::open_device knows it");
  suite.option("--nodes", nodes, "Processes that have a cache; with 2 also the cases of two");
  if (processes == 2) {
    webtier_bench::add_sharing_cases(suite, device);
    webtier_bench::add_neighbour_cases(suite, device);
  }
  webtier_bench::add_trace_cases(suite, device);
  return suite.run();
}
