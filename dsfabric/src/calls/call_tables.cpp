// SPDX-License-Identifier: MIT
// Comparing the programs of a job.
#include "calls/call_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dtutils/error.hpp"

namespace dsfabric {

CallTables::CallTables(const FunctionTable& mine, std::uint32_t self,
                       const std::vector<std::span<const std::byte>>& described)
    : mine_(mine), translations_(described.size()) {
  for (std::uint32_t process = 0; process < described.size(); ++process) {
    if (process == self || described[process].empty()) continue;
    translations_[process] = mine.translate(described[process]);
    const bool shares = std::ranges::any_of(translations_[process], [](std::uint32_t index) {
      return index != FunctionTable::kAbsent;
    });
    if (!shares) {
      throw dtutils::Error(
          fmt::format("process {}", process),
          "it runs another program, or another build of this one, and they have no named "
          "function in common",
          mine.difference(described[process]));
    }
  }
}

}  // namespace dsfabric
