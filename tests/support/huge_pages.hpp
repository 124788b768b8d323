// SPDX-License-Identifier: MIT
// Huge pages of this machine: its settings for the time of one test, and what backs a mapping.
#pragma once

#include <cstddef>
#include <string>

namespace support {

/// Writes a value into a file of /sys and writes back the old one in the end. Only one such object
/// can write on the machine at a time; a second one waits some seconds for its turn, then it may
/// not. So make one a test.
class SystemSetting {
 public:
  explicit SystemSetting(std::string path);
  SystemSetting(const SystemSetting&) = delete;
  SystemSetting& operator=(const SystemSetting&) = delete;
  ~SystemSetting();

  /// Empty on success, else why the setting stays as it is (for a visible skip).
  std::string set(const std::string& value);
  std::string get() const;

 private:
  bool write(const std::string& value);

  std::string path_;
  std::string before_;
  int lock_;
  bool locked_;
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

/// A value of the mapping that holds `address`, in /proc/self/smaps, mostly in KiB
/// ("KernelPageSize" is the size of its pages); 0 if there is none.
std::size_t mapping_value(const void* address, const std::string& field);

}  // namespace support
