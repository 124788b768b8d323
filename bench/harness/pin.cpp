// SPDX-License-Identifier: MIT
// Placement by sched_setaffinity(2).
#include "harness/pin.hpp"

#include <sched.h>

#include <cerrno>
#include <system_error>

namespace bench {

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot read the usable cores");
  }
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

void pin_this_thread(const std::vector<int>& cores, int index) {
  const int core = cores[static_cast<std::size_t>(index) % cores.size()];
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (::sched_setaffinity(0, sizeof(set), &set) != 0) {
    throw std::system_error(errno, std::generic_category(),
                            "cannot pin to core " + std::to_string(core));
  }
}

}  // namespace bench
