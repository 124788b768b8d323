// SPDX-License-Identifier: MIT
// A state that outlives its processes: checkpoint and log of a member, and the restart of all.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "groups/group_options.hpp"
#include "groups/log.hpp"
#include "groups/log_recovery.hpp"
#include "sst/table_group.hpp"

namespace groups {

namespace detail {
class CheckpointWriter;
}  // namespace detail

/// What a user may choose about a DurableState.
struct DurableOptions {
  /// Folder, group, and how the log is written.
  LogOptions log;
  /// Bytes of records after which there is a new checkpoint.
  std::uint64_t checkpoint_every = 256 << 20;
  /// DurableState::restart() throws Error when a member shows no progress for so long; more than
  /// the state and the log take to be read. 0: a member that is stopped is waited for.
  std::chrono::milliseconds restart_patience{0};
};

/// What a DurableState asks of the state.
struct DurableUpcalls {
  /// The message of a record, as it was delivered; the state has seen all before it.
  std::function<void(const LogRecord& record)> apply;
  /// The state as bytes.
  std::function<std::vector<std::byte>()> snapshot;
  /// The state is replaced by this one.
  std::function<void(std::span<const std::byte> state)> restore;
};

/// Where a group goes on: GroupOptions::first_view and first_sequence.
struct Restart {
  /// Above that of every record.
  std::uint64_t view;
  /// Of the first message that nobody has.
  std::uint64_t sequence;
};

/// The state of a member on disk: all that is delivered is appended to a log, and from time to time
/// a checkpoint lets the log forget what is before it.
///
///     groups::DurableState durable{options, upcalls};
///     const groups::Restart at = durable.restart(tables);
///     groups::OrderedGroup group{tables, {.first_view = at.view, .first_sequence = at.sequence},
///                                {.deliver = [&](const groups::Delivery& m) {
///                                   apply(m.bytes);
///                                   durable.append(m);
///                                   durable.applied(m.view, m.sequence);
///                                 }}};
///
/// Owner thread only.
class DurableState {
 public:
  /// Opens checkpoint and log. Throws Error as Log and read_checkpoint(), and when records between
  /// the two are missing. Setup only.
  DurableState(const DurableOptions& options, DurableUpcalls upcalls);
  DurableState(const DurableState&) = delete;
  DurableState& operator=(const DurableState&) = delete;
  /// Waits until what was appended is durable, or the disk has failed.
  ~DurableState();

  /// Makes the state at all members what the longest log among them says (longest_log), and their
  /// logs the same: a member whose log is shorter gets the records that it lacks, or the state when
  /// they are no longer there; records that the group has decided against are cut. When it returns,
  /// all members have all of it on their disks. A collective of all processes of the job, once,
  /// before the first append(). Throws Error when half of the members or more have lost their logs
  /// while others have records, and when a member dies meanwhile, or is stopped for longer than
  /// DurableOptions::restart_patience: start again. Setup only.
  Restart restart(sst::TableGroup& tables);

  /// Instead of restart(), for a process that joins a group which goes on: the state, and all that
  /// is on the disk, are replaced by the state of another member, which all messages with a
  /// sequence below `next` have made; it was taken in `view`. It is on the disk on return. Before
  /// the first append(). Throws Error when the disk fails. Setup only.
  void replace(std::span<const std::byte> state, std::uint64_t view, std::uint64_t next);

  /// A message was delivered: appends it to the log. Waits when the log's buffer is full. After an
  /// error of the disk it does nothing. Throws Error when the message is larger than half of
  /// LogOptions::buffer.
  void append(const Delivery& message);
  /// The state has all messages that were appended, up to this one: begins a checkpoint when it is
  /// time.
  void applied(std::uint64_t view, std::uint64_t sequence);
  /// Sees to checkpoints; call it often. True when something happened. Never waits.
  bool poll();
  /// Messages with a sequence below this one are durable here.
  std::uint64_t persisted() const noexcept { return log_.persisted(); }
  /// The log or a checkpoint could not be written: what is below persisted() is safe, and nothing
  /// more will be.
  bool failed() const noexcept;
  /// Why, in words.
  std::string why_failed() const;
  /// The log, to look at.
  const Log& log() const noexcept { return log_; }
  /// Sequence of the first message that is not in the last durable checkpoint.
  std::uint64_t checkpoint() const noexcept;

 private:
  friend class RestartMeeting;
  void wait_for_log();
  /// The file which says that this folder has been a member's: an empty log of it counts.
  std::string marker() const;
  void mark();
  void append_record(std::uint64_t view, std::span<const std::byte> bytes);
  /// Sets the state to checkpoint and log, up to `end`.
  void replay(std::uint64_t end);

  DurableOptions options_;
  DurableUpcalls upcalls_;
  bool had_log_;
  Log log_;
  std::vector<std::byte> checkpoint_state_;
  std::uint64_t checkpoint_view_ = 0;
  std::uint64_t appended_bytes_ = 0;
  std::unique_ptr<detail::CheckpointWriter> checkpoints_;
};

}  // namespace groups
