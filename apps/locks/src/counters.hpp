// SPDX-License-Identifier: MIT
// Wire format: the word of Dslr.
#pragma once

#include <cstdint>

#include "locks/dslr.hpp"

namespace locks::detail {

/// Four counters of 16 bits; each next counter is at least its served one. Bit 31 is a mark. A
/// counter never carries into the next one: it exceeds Dslr::kCountMax by no more than the requests
/// that are just finding that out.
struct Counters {
  static constexpr std::uint64_t kOneShared = 1;
  static constexpr std::uint64_t kOneExclusive = std::uint64_t{1} << 16;
  static constexpr std::uint64_t kDiedBit = std::uint64_t{1} << 31;
  static constexpr std::uint64_t kOneSharedServed = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kOneExclusiveServed = std::uint64_t{1} << 48;

  std::uint64_t word = 0;

  std::uint32_t next_shared() const noexcept { return word & 0xffff; }
  std::uint32_t next_exclusive() const noexcept { return word >> 16 & 0x7fff; }
  std::uint32_t served_shared() const noexcept { return word >> 32 & 0xffff; }
  std::uint32_t served_exclusive() const noexcept { return word >> 48 & 0xffff; }
  bool died() const noexcept { return (word & kDiedBit) != 0; }
  /// The word with all counters at zero.
  std::uint64_t reset() const noexcept { return word & kDiedBit; }
  /// It takes no further places.
  bool full() const noexcept {
    return next_shared() >= Dslr::kCountMax || next_exclusive() >= Dslr::kCountMax;
  }
  /// Nobody holds the lock or waits for it.
  bool all_served() const noexcept {
    return next_shared() == served_shared() && next_exclusive() == served_exclusive();
  }
};

}  // namespace locks::detail
