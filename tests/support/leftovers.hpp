// SPDX-License-Identifier: MIT
// What a process holds of the operating system, for tests that compare before and after.
#pragma once

#include <dirent.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

namespace support {

/// Sorted names in a folder, of those that contain `with`.
inline std::vector<std::string> entries(const char* folder, const std::string& with = "") {
  std::vector<std::string> names;
  DIR* open = ::opendir(folder);
  if (open == nullptr) return names;
  while (const dirent* entry = ::readdir(open)) {
    const std::string name = entry->d_name;
    if (name.find(with) != std::string::npos) names.push_back(name);
  }
  ::closedir(open);
  std::sort(names.begin(), names.end());
  return names;
}

/// One more than there are, always: the folder itself.
inline std::size_t open_descriptors() { return entries("/proc/self/fd").size(); }

/// Registered memory, own and mapped, as /proc/self/maps names it.
inline constexpr const char* kRegisteredMemory = "/memfd:cariama (deleted)";
/// The same, and control segments of the shm device.
inline constexpr const char* kAnySegment = "/memfd:cariama";

/// Mappings in this process whose name contains `name`.
inline std::size_t mapped_segments(const char* name = kRegisteredMemory) {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find(name) != std::string::npos;
  }
  return count;
}

}  // namespace support
