// SPDX-License-Identifier: MIT
// A folder for one test, and logs in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "dtutils/wait.hpp"
#include "groups/log.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

namespace support {

/// Removed in the end.
class TestFolder : public TemporaryFolder {
 public:
  /// The files of the log in it, the oldest first.
  std::vector<std::string> segments() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      if (entry.path().extension() == ".log") found.push_back(entry.path().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
};

inline constexpr std::uint64_t kTestGroup = 0x1234'5678'9abc'def0;

inline groups::LogOptions log_options(const TestFolder& folder) {
  groups::LogOptions options;
  options.folder = folder.path();
  options.group = kTestGroup;
  return options;
}

/// Record `sequence` of a test: its length and every byte are functions of the sequence.
inline std::string record_text(std::uint64_t sequence) {
  std::string text = "record " + std::to_string(sequence) + ": ";
  text.resize(text.size() + sequence * 7 % 61, static_cast<char>('a' + sequence % 26));
  return text;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Appends records up to `end`, waiting for room.
inline void append_until(groups::Log& log, std::uint64_t end, std::uint64_t view = 1) {
  dtutils::Deadline deadline(kPatience);
  while (log.extent().end < end) {
    const auto status = log.try_append(view, bytes_of(record_text(log.extent().end)));
    require(status == groups::AppendStatus::kAccepted || status == groups::AppendStatus::kFull,
            "the log takes the record");
    require(!deadline.passed(), "the log is written");
  }
}

inline void wait_persisted(const groups::Log& log, std::uint64_t end) {
  require(eventually([&] { return log.persisted() >= end; }), "records are persisted");
}

/// Checks that the log has the records from `first` to `end`, each with its bytes.
inline void require_records(const groups::Log& log, std::uint64_t first, std::uint64_t end) {
  require_equal(log.extent().first, first, "the first record");
  require_equal(log.extent().end, end, "the end");
  std::uint64_t next = first;
  log.replay(first, [&](const groups::LogRecord& record) {
    require_equal(record.sequence, next, "the sequence");
    require(text_of(record.bytes) == record_text(next), "the bytes of a record");
    ++next;
  });
  require_equal(next, end, "the number of records");
}

/// Changes one bit of a file.
inline void flip(const std::string& path, std::uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const char byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
  require(file.good(), "the file can be changed");
}

}  // namespace support
