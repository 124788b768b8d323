// SPDX-License-Identifier: MIT
// Four numbers at a time, by the vectors that GCC and Clang have on every machine.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace mcts {

using FourFloats = float __attribute__((vector_size(16)));
using FourInts = std::int32_t __attribute__((vector_size(16)));

/// The lower and the upper halves of four words.
template <class Four>
struct FourHalves {
  Four low;
  Four high;

  /// Of word(0) to word(3).
  template <class Word>
  static FourHalves of(Word&& word) noexcept {
    using TwoWords = std::uint64_t __attribute__((vector_size(16)));
    const Four a = std::bit_cast<Four>(TwoWords{word(0), word(1)});
    const Four b = std::bit_cast<Four>(TwoWords{word(2), word(3)});
    return {__builtin_shufflevector(a, b, 0, 2, 4, 6), __builtin_shufflevector(a, b, 1, 3, 5, 7)};
  }
};

/// Which of `count` numbers is the highest, when four(i) gives those from i on; what it gives at
/// the end beyond `count` does not matter. 0 when none is above minus infinity. Inlined, so that
/// what four() holds by value is in registers.
template <class GiveFour>
[[gnu::always_inline]] inline std::uint32_t highest(std::uint32_t count, GiveFour&& four) noexcept {
  const FourFloats nothing = FourFloats{} - std::numeric_limits<float>::infinity();
  const auto end = static_cast<std::int32_t>(count);
  FourFloats high = nothing;
  FourInts at{};
  FourInts now{0, 1, 2, 3};
  for (std::uint32_t i = 0; i < count; i += 4) {
    const FourFloats each = four(i);
    const FourInts above = (each > high) & (now < end);
    high = above ? each : high;
    at = above ? now : at;
    now += 4;
  }
  const auto highs = std::bit_cast<std::array<float, 4>>(high);
  const auto lane = std::max_element(highs.begin(), highs.end()) - highs.begin();
  return std::bit_cast<std::array<std::uint32_t, 4>>(at)[static_cast<std::size_t>(lane)];
}

}  // namespace mcts
