// SPDX-License-Identifier: MIT
// A small fast random generator for playouts.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace mcts {

/// xoshiro256++ (Blackman and Vigna 2019), seeded by splitmix64: 0.5 ns a number, equal seeds give
/// equal games. Satisfies std::uniform_random_bit_generator. Owner thread only.
class Random {
 public:
  using result_type = std::uint64_t;
  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }

  /// `stream` tells apart generators of one seed, such as those of several threads.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) noexcept {
    std::uint64_t x = seed + stream * 0xd1342543de82ef95;
    for (std::uint64_t& word : state_) {
      x += 0x9e3779b97f4a7c15;
      std::uint64_t z = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t operator()() noexcept {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// 0 to `end` - 1; each value is too likely by less than `end` / 2^32.
  std::uint32_t below(std::uint32_t end) noexcept {
    return static_cast<std::uint32_t>(((*this)() >> 32) * end >> 32);
  }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace mcts
