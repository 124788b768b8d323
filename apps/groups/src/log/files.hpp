// SPDX-License-Identifier: MIT
// Files as a log uses them: whole writes, durable names, errors in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace groups::detail {

/// A descriptor, closed in the end. Owner thread only.
class File {
 public:
  File() = default;
  /// As open(2); throws Error.
  File(const std::string& path, int flags);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  int descriptor() const noexcept { return descriptor_; }
  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const;
  /// All of it, at that byte; throws Error with how far it came.
  void write(std::uint64_t at, std::span<const std::byte> bytes) const;
  /// The disk begins with these bytes, which were written: a hint that makes sync() shorter.
  void start_sync(std::uint64_t at, std::uint64_t bytes) const noexcept;
  /// Throws Error.
  void truncate(std::uint64_t size) const;
  /// fdatasync(2); throws Error.
  void sync() const;

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// The bytes of a file, for reading. They do not change while it is mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// Throws an Error about a file from errno.
[[noreturn]] void file_error(const std::string& path, std::string_view what, int code);
/// Names made or removed in the folder are durable; throws Error.
void sync_folder(const std::string& folder);
/// Removes a file, which may be gone; throws Error.
void remove_file(const std::string& path);

}  // namespace groups::detail
