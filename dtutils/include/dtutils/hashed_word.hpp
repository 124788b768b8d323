// SPDX-License-Identifier: MIT
// Words that tell whether they are whole, for devices that write a word in parts.
#pragma once

#include <cstdint>

namespace dtutils {

/// Bits of a hashed word that are free for use, from bit 0 on.
inline constexpr unsigned kHashedBits = 42;
/// Those bits.
inline constexpr std::uint64_t kHashedMask = (std::uint64_t{1} << kHashedBits) - 1;

/// `value`, of kHashedBits bits, below a hash of it and of `salt`. Soft-RoCE writes a word in
/// parts; the hash of one that holds bytes of two such words, of different salts, fits once in
/// 2^22. Any thread, wait-free.
constexpr std::uint64_t hashed_word(std::uint64_t value, std::uint64_t salt) noexcept {
  // 2^64 / golden ratio, so that each bit reaches the upper ones; and another odd number.
  const std::uint64_t mixed = (value ^ salt * 0xd6e8feb86659fd93u) + 1;
  return mixed * 0x9e3779b97f4a7c15u >> kHashedBits << kHashedBits | value;
}
/// Whether `word` is a hashed word of that salt, and whole.
constexpr bool is_hashed_word(std::uint64_t word, std::uint64_t salt) noexcept {
  return word == hashed_word(word & kHashedMask, salt);
}

}  // namespace dtutils
