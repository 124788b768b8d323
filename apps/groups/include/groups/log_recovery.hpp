// SPDX-License-Identifier: MIT
// After a stop of all: which member's log the group goes on with, and what the others change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "groups/log.hpp"

namespace groups {

/// What the others need to know of a member's log.
struct LogSummary {
  /// Where it begins and ends.
  LogExtent extent;
  /// The views of its records, ascending.
  std::vector<LogView> views;
  friend bool operator==(const LogSummary&, const LogSummary&) = default;
};

/// Of a log before its first append. Throws Error after it. Setup only.
LogSummary summary(const Log& log);

/// As bytes, to be sent to the other members, and back. from_bytes throws Error for what to_bytes
/// has not made. Any thread; setup only.
std::vector<std::byte> to_bytes(const LogSummary& summary);
/// See to_bytes.
LogSummary from_bytes(std::span<const std::byte> bytes);

/// The index of the log to go on with: that of the highest last view, and among those the longest;
/// the first one of equals. `logs` has an entry for each member of the group, empty where the
/// member has not come; nothing is returned unless more than half of them have, for a record that
/// only others have may have been acknowledged. Members with the same summaries choose the same.
///
/// Why it has every record that a majority persisted: views are agreed by a majority and numbered
/// upwards, in one view all members append the same records in the same order, and a view begins
/// with what its majority has. So logs differ only in how far they have come, and in a tail that a
/// member appended in a view which the others left without it (as the log of Raft, section 5.4).
/// Any thread; setup only.
std::optional<std::size_t> longest_log(std::span<const std::optional<LogSummary>> logs);

/// The sequence up to which `mine` has the same records as `chosen`; mine is cut there. Not above
/// the end of both. When it is below chosen.extent.first, `mine` needs a checkpoint. Any thread;
/// setup only.
std::uint64_t agrees_up_to(const LogSummary& mine, const LogSummary& chosen);

}  // namespace groups
