// SPDX-License-Identifier: MIT
// Sizes: rounded up, and in words for messages.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace dtutils {

/// Larger than any memory, and far from where sizes overflow.
inline constexpr std::size_t kUnlimited = std::size_t{1} << 62;

/// Of a value up to kUnlimited, to a multiple of any number.
constexpr std::size_t round_up(std::size_t value, std::size_t multiple) noexcept {
  return (value + multiple - 1) / multiple * multiple;
}

/// "64 KiB", "2 MiB", "1 GiB"; plain bytes where no larger unit divides the size.
inline std::string format_bytes(std::size_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

}  // namespace dtutils
