// SPDX-License-Identifier: MIT
// CRC-32 as zlib's, by carry-less multiplication where the processor has it.
#pragma once

#include <cstdint>
#include <span>

namespace groups::detail {

/// The CRC-32 of some bytes and, behind them, of `bytes`; `before` is that of the first ones, 0 for
/// none. Any thread.
std::uint32_t extend_crc32(std::uint32_t before, std::span<const std::byte> bytes) noexcept;

}  // namespace groups::detail
