// SPDX-License-Identifier: MIT
// An environment variable for as long as a test needs it.
#pragma once

#include <cstdlib>
#include <string>

namespace support {

/// Sets it as long as this lives, and removes it then.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;
  ~EnvironmentVariable() { unsetenv(name_); }

 private:
  const char* name_;
};

}  // namespace support
