// SPDX-License-Identifier: MIT
// A state on disk that stands for all records of a log before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace groups {

/// What a state has seen.
struct CheckpointHead {
  /// Whose state it is, as LogOptions::group.
  std::uint64_t group = 0;
  /// View of the last message in it.
  std::uint64_t view = 0;
  /// Sequence of the first message that is not in it.
  std::uint64_t next = 0;
};

/// A state and what it has seen.
struct Checkpoint {
  /// See there.
  CheckpointHead head;
  /// The state.
  std::vector<std::byte> state;
};

/// Replaces the checkpoint of the folder, a file "checkpoint", by a new one that is durable when
/// this returns: the log may then be truncated before head.next. Whenever the machine stops, the
/// old or the new one is there. Throws Error when the disk fails; the old one stays. Waits for the
/// disk; any thread, one at a time for a folder.
void write_checkpoint(const std::string& folder, const CheckpointHead& head,
                      std::span<const std::byte> state);

/// The checkpoint of the folder; empty when there is none. Throws Error when a byte of it is
/// damaged, or when it is of another group. Setup only.
std::optional<Checkpoint> read_checkpoint(const std::string& folder, std::uint64_t group);

}  // namespace groups
