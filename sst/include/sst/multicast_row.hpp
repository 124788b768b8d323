// SPDX-License-Identifier: MIT
// The counters of a multicast, as columns of a table.
#pragma once

#include <cstdint>

#include "sst/table_limits.hpp"

namespace sst {

/// A member's row. Each column only grows, so its minimum over the members does, too: predicates on
/// it are monotonic (Multicast::table, Table::when_grows).
struct MulticastRow {
  /// kByTurns: all positions below this one have come to the member. The minimum is what is stable.
  std::uint64_t received;
  /// kByTurns: all positions below this one were delivered there. Others see it a little later.
  std::uint64_t delivered;
  /// The member has ended its Multicast.
  std::uint64_t parted;
  /// Where its rings are.
  std::uint64_t memory_address;
  /// The key that they are written with.
  std::uint64_t memory_key;
  /// Of the options: the same at all members, or the Multicast is not made.
  std::uint64_t options;
  /// `received` and what else all look at is on one line.
  std::uint64_t unused[2];
  /// By sender, in the order of turns: slots that the member has given back. Only this sender is
  /// told.
  std::uint64_t taken[kMaxMembers];
};

}  // namespace sst
