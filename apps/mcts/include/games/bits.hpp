// SPDX-License-Identifier: MIT
// A set of board cells as bits, in as many words as the board needs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace games {

/// Plain bytes, no bounds checks: positions are below kWords * 64.
template <std::size_t kWords>
struct Bits {
  std::array<std::uint64_t, kWords> words{};

  constexpr bool test(std::size_t at) const noexcept { return words[at / 64] >> at % 64 & 1; }
  constexpr void set(std::size_t at) noexcept { words[at / 64] |= std::uint64_t{1} << at % 64; }
  constexpr void flip(std::size_t at) noexcept { words[at / 64] ^= std::uint64_t{1} << at % 64; }
  constexpr bool any() const noexcept {
    std::uint64_t all = 0;
    for (const std::uint64_t word : words) all |= word;
    return all != 0;
  }
  /// Counts in parallel within each word: the baseline of x86-64 has no instruction for it.
  constexpr int count() const noexcept {
    constexpr std::uint64_t k1 = 0x5555555555555555, k2 = 0x3333333333333333,
                            k4 = 0x0f0f0f0f0f0f0f0f, k8 = 0x00ff00ff00ff00ff;
    std::uint64_t bytes = 0;
    for (std::uint64_t word : words) {
      word -= word >> 1 & k1;
      word = (word & k2) + (word >> 2 & k2);
      bytes += (word + (word >> 4)) & k4;
    }
    static_assert(kWords * 8 < 256, "a byte of the sum must not overflow");
    const std::uint64_t pairs = (bytes & k8) + (bytes >> 8 & k8);
    return static_cast<int>(pairs * 0x0001000100010001 >> 48);
  }

  template <std::size_t kBy>
  constexpr Bits up() const noexcept {
    static_assert(kBy > 0 && kBy < 64);
    Bits out;
    for (std::size_t i = kWords; i-- > 0;) {
      out.words[i] = words[i] << kBy | (i > 0 ? words[i - 1] >> (64 - kBy) : 0);
    }
    return out;
  }
  template <std::size_t kBy>
  constexpr Bits down() const noexcept {
    static_assert(kBy > 0 && kBy < 64);
    Bits out;
    for (std::size_t i = 0; i < kWords; ++i) {
      out.words[i] = words[i] >> kBy | (i + 1 < kWords ? words[i + 1] << (64 - kBy) : 0);
    }
    return out;
  }

  friend constexpr Bits operator&(Bits a, const Bits& b) noexcept {
    for (std::size_t i = 0; i < kWords; ++i) a.words[i] &= b.words[i];
    return a;
  }
  friend constexpr Bits operator|(Bits a, const Bits& b) noexcept {
    for (std::size_t i = 0; i < kWords; ++i) a.words[i] |= b.words[i];
    return a;
  }
  friend constexpr Bits operator~(Bits a) noexcept {
    for (std::uint64_t& word : a.words) word = ~word;
    return a;
  }
  friend constexpr bool operator==(const Bits&, const Bits&) = default;
};

}  // namespace games
