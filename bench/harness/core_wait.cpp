// SPDX-License-Identifier: MIT
// Reads /proc/thread-self/schedstat.
#include "bench/harness/core_wait.hpp"

#include <fstream>

namespace bench {

std::uint64_t core_wait_ns() {
  std::ifstream statistics("/proc/thread-self/schedstat");
  std::uint64_t ran_ns = 0;
  std::uint64_t waited_ns = 0;
  statistics >> ran_ns >> waited_ns;
  return statistics ? waited_ns : 0;
}

}  // namespace bench
