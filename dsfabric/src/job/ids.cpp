// SPDX-License-Identifier: MIT
// Ids as text.
#include "dsfabric/ids.hpp"

#include <fmt/format.h>

namespace {

using Text = fmt::format_context::iterator;

}  // namespace

Text fmt::formatter<dsfabric::MachineId>::format(dsfabric::MachineId id,
                                                 fmt::format_context& context) const {
  return fmt::format_to(context.out(), "m{}", id.value);
}

Text fmt::formatter<dsfabric::ProcessId>::format(dsfabric::ProcessId id,
                                                 fmt::format_context& context) const {
  return fmt::format_to(context.out(), "p{}", id.value);
}

Text fmt::formatter<dsfabric::ThreadId>::format(dsfabric::ThreadId id,
                                                fmt::format_context& context) const {
  if (id.is_service()) return fmt::format_to(context.out(), "{}.service", id.process.value);
  return fmt::format_to(context.out(), "{}.{}", id.process.value, id.index);
}
