// SPDX-License-Identifier: MIT
// Wire format: the immediate data of the messages of a stream.
#pragma once

#include <cstdint>

#include "streams/limits.hpp"

namespace streams {

/// Bits 31 and 30 of the immediate data. The other bits:
///
///   kData     bytes that the write has put into the ring, behind those before it
///   kReturn   bytes taken (bits 0 to 15), messages looked at (bits 16 to 29)
///   kEnd      none: the sender sends no more
///   kClosed   bit 0: bytes were left unread. The sender neither sends nor receives any more
enum class MessageKind : std::uint32_t { kData = 0, kReturn = 1, kEnd = 2, kClosed = 3 };

inline constexpr std::uint32_t kReturnedBytesMask = 0xffff;
inline constexpr unsigned kReturnedMessagesShift = 16;
inline constexpr std::uint32_t kContentMask = (std::uint32_t{1} << 30) - 1;
static_assert(kRing <= kReturnedBytesMask && kMessages < (1u << 14));

constexpr std::uint32_t message(MessageKind kind, std::uint32_t content) noexcept {
  return static_cast<std::uint32_t>(kind) << 30 | content;
}

}  // namespace streams
