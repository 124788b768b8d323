// SPDX-License-Identifier: MIT
// Reads the kernel's list of mappings.
#include "software/protection.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "dtutils/error.hpp"

namespace dtutils::software {

std::optional<int> protection_of(const void* address, std::size_t length) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t end = begin + length;
  // Of this thread: the list of a process whose first thread has ended is empty.
  constexpr const char* kList = "/proc/thread-self/maps";
  std::ifstream list(kList);
  if (!list) throw Error(kList, "it cannot be opened", "raise `ulimit -n`; mount /proc", errno);
  int granted = PROT_READ | PROT_WRITE;
  std::uintptr_t seen = begin;
  std::string line;
  // Ascending, and no two overlap.
  while (seen < end && std::getline(list, line)) {
    unsigned long from = 0;
    unsigned long to = 0;
    char read = 0;
    char write = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %c%c", &from, &to, &read, &write) != 4) break;
    if (to <= seen) continue;
    if (from > seen) break;
    if (read != 'r') granted &= ~PROT_READ;
    if (write != 'w') granted &= ~PROT_WRITE;
    seen = to;
  }
  return seen < end ? std::nullopt : std::optional(granted);
}

}  // namespace dtutils::software
