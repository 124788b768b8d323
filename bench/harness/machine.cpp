// SPDX-License-Identifier: MIT
// Reads /proc/cpuinfo and uname(2).
#include "bench/harness/machine.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>

#include "bench/harness/pin.hpp"

namespace bench {

std::string describe_machine() {
  std::string model = "unknown processor";
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      model = line.substr(colon + 2);
      break;
    }
  }
  utsname system{};
  ::uname(&system);
  return fmt::format("{}, {} usable cores, {} {}", model, usable_cores().size(),
                     static_cast<const char*>(system.sysname),
                     static_cast<const char*>(system.release));
}

}  // namespace bench
