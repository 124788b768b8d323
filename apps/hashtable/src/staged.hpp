// SPDX-License-Identifier: MIT
// How operations on records travel to their home, in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "hashtable/detail/record.hpp"

namespace hashtable::detail {

using Words = std::span<const std::uint64_t>;

// A change lies in the memory of its home as these words, one change behind the other:
//
//     operation : 8, has a piece : 1, expects : 1 | hash | piece, if it has one | record
//
// What travels with its call may expect a value: that is a record of its own, without a key, before
// the other one.
inline constexpr std::uint64_t kHasPiece = 1 << 8;
inline constexpr std::uint64_t kExpects = 1 << 9;

inline void append(std::vector<std::uint64_t>& words, std::span<const std::byte> bytes) {
  const std::size_t at = words.size();
  words.resize(at + Record::words_of(bytes.size()), 0);
  if (!bytes.empty()) std::memcpy(words.data() + at, bytes.data(), bytes.size());
}

inline void append_record(std::vector<std::uint64_t>& words, std::span<const std::byte> key,
                          std::span<const std::byte> value) {
  words.push_back(std::uint64_t{value.size()} << 32 | key.size());
  append(words, key);
  append(words, value);
}

inline Words take(Words& left, std::size_t count) noexcept {
  const Words taken = left.first(count);
  left = left.subspan(count);
  return taken;
}

}  // namespace hashtable::detail
