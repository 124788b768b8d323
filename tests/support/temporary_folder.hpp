// SPDX-License-Identifier: MIT
// A folder for one test, which goes with it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "support/require.hpp"

namespace support {

/// Made where temporary files are (TMPDIR); removed in the end, with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(std::filesystem::temp_directory_path() / "cariama-test-XXXXXX") {
    require(::mkdtemp(path_.data()) != nullptr, "a folder for the test");
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const noexcept { return path_; }
  /// A file of that name in it, which need not be there.
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace support
