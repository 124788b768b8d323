// SPDX-License-Identifier: MIT
// The files of a log: which there are, what is in them, what is damaged.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "groups/log.hpp"
#include "log/files.hpp"

namespace groups::detail {

/// The files of the folder by the sequence of their first records. Setup, and then the thread of
/// the log only.
class Segments {
 public:
  /// Throws Error when the folder cannot be read.
  Segments(std::string folder, std::uint64_t group);

  /// Reads and checks all files, and cuts the tail off. Throws Error when a record or a file is
  /// damaged or missing, or belongs to another group.
  void check(bool cut_damage);
  /// The views of the records that check() has found and that were not forgotten since.
  const std::vector<LogView>& views() const noexcept { return views_; }
  /// Calls `take` for the records from `first` on, which check() has found to be right.
  void read(std::uint64_t first, const std::function<void(const LogRecord&)>& take) const;
  /// Forgets the records from `sequence` on.
  void cut(std::uint64_t sequence);
  /// Forgets all records, and begins again with `sequence`.
  void restart_at(std::uint64_t sequence);
  /// Removes the files in which all records are below `sequence`; the last one stays.
  void remove_before(std::uint64_t sequence);
  /// A new file, whose first record will be `sequence`; the one for appending from now on.
  void begin(std::uint64_t sequence);

  /// The last file, open for writing. begin() or check() came before.
  const File& last() const noexcept { return last_; }
  std::uint64_t last_bytes() const noexcept { return last_bytes_; }
  /// So many bytes were written at its end.
  void grown(std::uint64_t bytes) noexcept { last_bytes_ += bytes; }
  const LogExtent& extent() const noexcept { return extent_; }
  std::uint64_t cut_bytes() const noexcept { return cut_bytes_; }

  /// Of the log in `folder`, by its oldest file that has a header; 0: there is none.
  static std::uint64_t group_in(const std::string& folder);

 private:
  /// Where the good records of a file end.
  struct Scan {
    std::uint64_t bytes;
    LogExtent extent;
    /// Empty: up to the end of the file.
    std::string damage;
  };
  std::string path(std::uint64_t first) const;
  /// Empty when the header is right.
  std::string header_damage(std::uint64_t first, std::span<const std::byte> bytes) const;
  Scan scan(std::uint64_t first, std::span<const std::byte> bytes,
            const std::function<void(const LogRecord&)>& take) const;
  bool record_follows(const Scan& scan, std::span<const std::byte> bytes) const;
  void open_last();
  void remove_from(std::uint64_t first);
  [[noreturn]] void refuse(std::uint64_t first, const std::string& damage) const;

  std::string folder_;
  std::uint64_t group_;
  /// Sequences of the first records, ascending.
  std::vector<std::uint64_t> firsts_;
  File last_;
  std::uint64_t last_bytes_ = 0;
  LogExtent extent_;
  std::vector<LogView> views_;
  std::uint64_t cut_bytes_ = 0;
};

}  // namespace groups::detail
