// SPDX-License-Identifier: MIT
// A sum that tells documents that differ by accident apart, at the speed of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace caching::detail {

/// One word more into a sum: for equal `sum`, different words give different sums.
constexpr std::uint64_t sum_word(std::uint64_t sum, std::uint64_t word) noexcept {
  const std::uint64_t mixed = (sum ^ word) * 0x9e3779b97f4a7c15u;
  return mixed << 29 | mixed >> 35;
}

/// Eight sums beside each other, so that multiplications overlap. Any thread, wait-free.
inline std::uint64_t checksum(const void* data, std::size_t bytes,
                              std::uint64_t seed = 0) noexcept {
  constexpr std::size_t kSums = 8;
  std::uint64_t sums[kSums];
  for (std::size_t i = 0; i < kSums; ++i) sums[i] = sum_word(seed, i + 1);
  const auto* at = static_cast<const std::byte*>(data);
  std::uint64_t words[kSums];
  for (std::size_t left = bytes;; left -= sizeof words, at += sizeof words) {
    if (left < sizeof words) {
      std::memset(words, 0, sizeof words);
      if (left != 0) std::memcpy(words, at, left);
    } else {
      std::memcpy(words, at, sizeof words);
    }
    for (std::size_t i = 0; i < kSums; ++i) sums[i] = sum_word(sums[i], words[i]);
    if (left < sizeof words) break;
  }
  std::uint64_t sum = sum_word(seed, bytes);
  for (const std::uint64_t each : sums) sum = sum_word(sum, each);
  return sum ^ sum >> 32;
}

/// A hash of what is short, as names are. Any thread, wait-free.
inline std::uint64_t name_sum(const char* text, std::size_t bytes,
                              std::uint64_t seed = 0) noexcept {
  constexpr std::size_t kShort = 256;
  if (bytes > kShort) return checksum(text, bytes, seed);
  constexpr std::uint64_t kOdd = 0xd6e8feb86659fd93u;
  // Multiplied before and after, so that no bit of a word can be undone by one of the next word.
  std::uint64_t sum = sum_word(seed, bytes);
  const auto add = [&](std::uint64_t word) {
    const std::uint64_t mixed = sum ^ word * kOdd;
    sum = (mixed << 31 | mixed >> 33) * 0x9e3779b97f4a7c15u;
  };
  std::uint64_t word = 0;
  for (; bytes >= sizeof word; bytes -= sizeof word, text += sizeof word) {
    std::memcpy(&word, text, sizeof word);
    add(word);
  }
  word = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(text[i])} << 8 * i;
  }
  add(word);
  sum = (sum ^ sum >> 32) * kOdd;
  return sum ^ sum >> 32;
}

}  // namespace caching::detail
