// SPDX-License-Identifier: MIT
// Patterns that hold no byte of freshly zeroed memory.
#include "support/patterns.hpp"

#include <algorithm>

namespace support {
namespace {

std::byte pattern(std::size_t position, std::uint32_t seed) {
  return std::byte(1 + (position * 7 + position / 251 + seed * 31) % 255);
}

}  // namespace

void fill(std::span<std::byte> bytes, std::uint32_t seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(i, seed);
}

bool holds(std::span<const std::byte> bytes, std::uint32_t seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != pattern(i, seed)) return false;
  }
  return true;
}

bool all_bytes(std::span<const std::byte> bytes, int value) {
  return std::ranges::all_of(bytes, [&](std::byte byte) { return byte == std::byte(value); });
}

}  // namespace support
