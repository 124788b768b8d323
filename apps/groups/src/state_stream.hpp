// SPDX-License-Identifier: MIT
// The stream by which a member brings a process up to date: a state, messages, and the agreed cut.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "door.hpp"
#include "dtutils/clock.hpp"
#include "groups/group_options.hpp"

namespace groups::detail {

/// What goes before the bytes of a record.
struct RecordHead {
  enum Kind : std::uint32_t {
    /// The bytes are a state; `sequence` is that of the next message.
    kState,
    /// The bytes are a message.
    kMessage,
    /// The state is that at the end of the view before `view`. The bytes are the ids of its members
    /// (16 bits each); `sequence` is the attempt.
    kCut,
  };
  std::uint32_t kind;
  std::uint32_t sender;
  std::uint64_t view;
  std::uint64_t sequence;
  std::uint64_t bytes;
};
static_assert(sizeof(RecordHead) == 32);

/// The end at the donor. Serves one process at a time. What is on its way of an earlier stream to
/// the same process arrives before this one, by the same queue pair. Owner thread only.
class StateSource {
 public:
  explicit StateSource(Door& door) noexcept : door_(door) {}

  /// Whom it serves, as `ticket`; ticket 0: nobody.
  dsfabric::ProcessId process() const noexcept { return process_; }
  std::uint32_t ticket() const noexcept { return ticket_; }
  bool active() const noexcept { return ticket_ != 0; }

  /// Begins a stream with the state, which is that of this view before message `next`.
  void begin(dsfabric::ProcessId process, std::uint32_t ticket, std::uint64_t view,
             std::uint64_t next, std::span<const std::byte> state);
  /// Nobody waits for more of it.
  void end();
  /// Ends the stream of a process that may still wait for more, which is told, if it lives.
  void give_up() noexcept;
  /// Tells a process, if it lives, that what it joins by as `ticket` has come to nothing, whoever
  /// gives it the state; ends a stream to it. This member has served no later ticket of it, whose
  /// word that would overwrite.
  void refuse(dsfabric::ProcessId process, std::uint32_t ticket) noexcept;
  /// Puts a record behind the others.
  void append(const RecordHead& head, std::span<const std::byte> bytes);
  /// Writes what the lane has room for. True when it wrote anything.
  bool pump() noexcept;
  /// The process has the state, and nearly all that was appended since.
  bool nearly_done() const noexcept;
  /// So many messages wait that no more should come: then the donor delivers no more, which holds
  /// the senders up, until the process has taken some in.
  bool behind() const noexcept;
  /// Gives up when it has been behind for so long, and the process took in nothing. True once.
  bool give_up_stalled() noexcept;

 private:
  Door& door_;
  dsfabric::ProcessId process_{};
  std::uint32_t ticket_ = 0;
  /// Not written yet, from `head_` on.
  std::vector<std::byte> pending_;
  std::size_t head_ = 0;
  /// Bytes written, appended, and of the state with its head.
  std::uint64_t written_ = 0;
  std::uint64_t appended_ = 0;
  std::uint64_t state_ = 0;
  /// What the process had taken in when that changed last.
  std::uint64_t seen_taken_ = 0;
  dtutils::Clock::time_point seen_{};
};

/// The end at the process that joins. Owner thread only.
class StateSink {
 public:
  explicit StateSink(Door& door) noexcept : door_(door) {}

  struct Record {
    RecordHead head;
    std::span<const std::byte> bytes;
  };

  /// Expects a stream of that donor.
  void begin(dsfabric::ProcessId donor, std::uint32_t ticket);
  /// Takes in what has come. True when anything had come.
  bool poll();
  /// What has come is dealt with: makes room for more, and tells the donor.
  void give_back() noexcept;
  /// The donor has given up.
  bool given_up() const noexcept { return given_up_; }
  /// That member says that what this process joins by has come to nothing (StateSource::refuse).
  bool is_refused_by(dsfabric::ProcessId member) const noexcept;
  /// The next record, if all of it is here. Its bytes are valid until the next call of poll().
  std::optional<Record> next();

 private:
  Door& door_;
  dsfabric::ProcessId donor_{};
  std::uint32_t ticket_ = 0;
  /// Come, from `head_` on not looked at.
  std::vector<std::byte> bytes_;
  std::size_t head_ = 0;
  std::uint64_t taken_ = 0;
  /// Of that, what the donor was told.
  std::uint64_t told_ = 0;
  bool given_up_ = false;
};

}  // namespace groups::detail
