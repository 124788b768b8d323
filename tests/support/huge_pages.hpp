// SPDX-License-Identifier: MIT
// Changes to the machine's huge page settings for the time of one test.
#pragma once

#include <cstddef>
#include <string>

namespace support {

/// Writes a value into a file of /sys and writes back the old one in the end. Only one such object
/// exists on the machine at a time; a second one waits, so make one a test.
class SystemSetting {
 public:
  explicit SystemSetting(std::string path);
  SystemSetting(const SystemSetting&) = delete;
  SystemSetting& operator=(const SystemSetting&) = delete;
  ~SystemSetting();

  /// False when it is not allowed.
  bool set(const std::string& value);
  std::string get() const;

 private:
  std::string path_;
  std::string before_;
  int lock_;
};

/// The pool of huge pages of one size.
class HugePagePool {
 public:
  explicit HugePagePool(std::size_t page_size);

  /// Adds pages; empty when so many are free, else why they are not (for a visible skip).
  std::string add(std::size_t pages);
  std::size_t free() const;
  std::size_t total() const;

 private:
  std::string folder_;
  SystemSetting count_;
};

}  // namespace support
