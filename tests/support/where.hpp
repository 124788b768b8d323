// SPDX-License-Identifier: MIT
// The place of a call, as std::source_location has it, which clang 14 does not know.
#pragma once

namespace support {

struct Where {
  /// As a default argument: of the call that leaves it out.
  static constexpr Where current(const char* file = __builtin_FILE(),
                                 int line = __builtin_LINE()) noexcept {
    return {file, line};
  }

  const char* file;
  int line;
};

}  // namespace support
