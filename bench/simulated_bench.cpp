// SPDX-License-Identifier: MIT
// Measures protocols of many nodes in a simulated cluster, in virtual time.
#include "bench/simulated/cases.hpp"

int main(int argc, char** argv) {
  bench::Suite suite(argc, argv, "simulated_bench",
                     "locks and large messages of many nodes, in the virtual time of a simulation");
  simulated_bench::add_lock_cases(suite);
  simulated_bench::add_multicast_cases(suite);
  return suite.run();
}
