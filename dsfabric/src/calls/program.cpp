// SPDX-License-Identifier: MIT
// Asks the table of functions.
#include "dsfabric/program.hpp"

#include "dsfabric/detail/function_table.hpp"

namespace dsfabric {

Invoke function_at(std::uint32_t index, std::uint32_t bytes) noexcept {
  const auto functions = detail::FunctionTable::instance().entries();
  if (index >= functions.size() || functions[index].bytes > bytes) return nullptr;
  return functions[index].invoke;
}

std::uint64_t program_digest() noexcept { return detail::FunctionTable::instance().digest(); }

}  // namespace dsfabric
