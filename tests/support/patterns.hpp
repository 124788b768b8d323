// SPDX-License-Identifier: MIT
// Bytes that tests write in one place and look for in another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace support {

/// Fills with bytes that depend on `seed` and position and are never 0.
void fill(std::span<std::byte> bytes, std::uint32_t seed);
/// True when `bytes` are what `fill` with this seed wrote to a span of the same length.
bool holds(std::span<const std::byte> bytes, std::uint32_t seed);
/// True when every byte is `value`.
bool all_bytes(std::span<const std::byte> bytes, int value);

}  // namespace support
