// SPDX-License-Identifier: MIT
// String matchers under one name, whichever major version of Catch2 is installed.
#pragma once

#include <string>

#include "support/catch.hpp"

namespace support {

/// Matches a string that holds `part`; combine with &&, || and !.
inline auto contains(const std::string& part) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Contains(part);
#endif
}

}  // namespace support
