// SPDX-License-Identifier: MIT
// An append-only log of the messages of a group, on disk, with checksums and group commit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace groups {

namespace detail {
class LogWriter;
}  // namespace detail

/// What a user may choose about a Log.
struct LogOptions {
  /// Where its files are; made when it does not exist. One log a folder, one process a log.
  std::string folder;
  /// Whose log it is; in every record. Not 0.
  std::uint64_t group = 0;
  /// Bytes of records that may wait for the disk: a power of two, 4 KiB to 1 GiB.
  std::uint64_t buffer = 16 << 20;
  /// A file that has so many bytes gets a successor. Truncation removes whole files.
  std::uint64_t segment = 64 << 20;
  /// What is damaged, and all behind it, is cut off when the log is opened, instead of an Error:
  /// for a member that gets those records from others.
  bool cut_damage = false;
};

/// What was appended once.
struct LogRecord {
  /// The view in which it was delivered.
  std::uint64_t view;
  /// Its place in the log; grows by one from record to record.
  std::uint64_t sequence;
  /// Valid during the call that hands it out.
  std::span<const std::byte> bytes;
};

/// Where a view begins in a log.
struct LogView {
  /// Its number; a later view has a larger one.
  std::uint64_t view;
  /// Sequence of its first record.
  std::uint64_t first;
  friend bool operator==(const LogView&, const LogView&) = default;
};

/// Where a log begins and ends.
struct LogExtent {
  /// Sequence of the first record that is there.
  std::uint64_t first = 0;
  /// Sequence of the record that comes next; equal to first when there are none.
  std::uint64_t end = 0;
  /// View of the last record, 0 when there are none.
  std::uint64_t view = 0;
  friend bool operator==(const LogExtent&, const LogExtent&) = default;
};

/// What became of an attempt to append.
enum class AppendStatus : std::uint8_t {
  /// It will be written; persisted() says when it is.
  kAccepted,
  /// So many records wait for the disk that it has no place. Try again later.
  kFull,
  /// Larger than half of LogOptions::buffer.
  kTooLarge,
  /// The log does not take records any more; see why_failed().
  kFailed,
};

/// The durable log of a member (Derecho, TOCS 2019, section 3.5: the state *persisted*). The thread
/// that delivers appends, which copies the record into a buffer. A thread of the log writes all
/// that has gathered by one write and makes it durable by one fdatasync(2), and so on: the slower
/// the disk, the more records share one (group commit).
///
/// What is promised:
///  1. A record below persisted() survives the end of the process and of the machine, as far as the
///     disk keeps what fdatasync(2) has confirmed.
///  2. Opening finds the records up to the last complete one. A tail that was being written is cut
///     off; cut_bytes() says how much. Every byte of a record is covered by a CRC-32. When a record
///     is damaged and complete ones follow, opening throws an Error with file, byte and record, and
///     changes nothing, unless LogOptions::cut_damage. A damaged last record looks like a tail.
///  3. After an error of the disk (it is full, say) nothing more is written, for what a failed
///     fdatasync(2) has lost is not known: persisted() stays where it is, all below it is safe.
///
/// Owner thread only, but for persisted() and failed().
class Log {
 public:
  /// Opens or makes the log and reads all of it once. Throws Error when the folder cannot be used,
  /// another process has it open for 2 s more, the log belongs to another group or is damaged.
  /// Setup only.
  explicit Log(const LogOptions& options);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  /// Waits until what was appended is persisted, or the disk has failed.
  ~Log();

  /// The group of the log in this folder; empty when there is no log. Throws Error when its first
  /// file cannot be read. Setup only.
  static std::optional<std::uint64_t> group_in(const std::string& folder);

  // --- before the first append ----------------------------------------------------------------
  /// Calls `take` for each record from `first` on, in their order. Throws what it throws, and Error
  /// when the files have changed. Setup only.
  void replay(std::uint64_t first, const std::function<void(const LogRecord&)>& take) const;
  /// The views of its records, ascending, as opening has found them. Throws Error after the first
  /// append. Setup only.
  const std::vector<LogView>& views() const;
  /// Forgets the records from `sequence` on, for the group has decided on others. Throws Error when
  /// the disk fails. Setup only.
  void cut(std::uint64_t sequence);
  /// Forgets all records; the next one gets `sequence`: what is before it is in a checkpoint.
  /// Throws Error when the disk fails. Setup only.
  void restart_at(std::uint64_t sequence);
  /// Bytes that opening has cut off.
  std::uint64_t cut_bytes() const noexcept;

  // --- appending ------------------------------------------------------------------------------
  /// The next record, with sequence extent().end. Copies it; never waits for the disk. Makes one
  /// system call when the thread of the log sleeps, none otherwise. Owner thread only.
  [[nodiscard]] AppendStatus try_append(std::uint64_t view,
                                        std::span<const std::byte> bytes) noexcept;
  /// Called by poll() when more is persisted: as persisted(sequence). Owner thread only.
  void on_persisted(std::function<void(std::uint64_t)> upcall);
  /// Calls on_persisted's function if there is news. True when there was. Never waits.
  bool poll();
  /// Records below this sequence are durable. Any thread, wait-free.
  std::uint64_t persisted() const noexcept;
  /// The disk has failed. Any thread, wait-free.
  bool failed() const noexcept;
  /// Why, in words; empty when it has not. Allocates.
  std::string why_failed() const;

  /// A checkpoint has all below `sequence`: files without a record from there on are removed, by
  /// the thread of the log, some time later. Never waits.
  void truncate_before(std::uint64_t sequence) noexcept;
  /// Where the log begins and ends, with what is not persisted yet. `first` is that of the oldest
  /// file, as far as the thread of the log has said.
  LogExtent extent() const noexcept;

 private:
  std::unique_ptr<detail::LogWriter> writer_;
};

}  // namespace groups
