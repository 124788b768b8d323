// SPDX-License-Identifier: MIT
// Comparing the programs of a job.
#include "calls/call_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dtutils/error.hpp"

namespace dsfabric {

CallTables::CallTables(std::uint32_t self, const std::vector<std::span<const std::byte>>& described)
    : translations_(described.size()) {
  const FunctionTable& table = FunctionTable::instance();
  for (std::uint32_t process = 0; process < described.size(); ++process) {
    if (process == self || described[process].empty()) continue;
    translations_[process] = table.translate(described[process]);
    const bool shares = std::ranges::any_of(translations_[process], [](std::uint32_t index) {
      return index != FunctionTable::kAbsent;
    });
    if (!shares) {
      throw dtutils::Error(fmt::format("process {}", process),
                           "it runs another program, with no named function in common",
                           table.difference(described[process]));
    }
  }
}

}  // namespace dsfabric
