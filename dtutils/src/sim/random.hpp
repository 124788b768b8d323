// SPDX-License-Identifier: MIT
// Random numbers and digests that are the same everywhere.
#pragma once

#include <cstdint>

namespace dtutils::sim {

/// One round of SplitMix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t mixed(std::uint64_t value) noexcept {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(mixed(seed)) {}
  std::uint64_t next() noexcept { return mixed(state_ += 0x9e3779b97f4a7c15u); }
  /// 0 to `end` - 1; 0 for `end` 0.
  std::uint64_t below(std::uint64_t end) noexcept { return end == 0 ? 0 : next() % end; }
  /// True once in `n` calls on average; never for 0.
  bool once_in(std::uint64_t n) noexcept { return n != 0 && below(n) == 0; }

 private:
  std::uint64_t state_;
};

class Digest {
 public:
  void add(std::uint64_t value) noexcept { value_ = mixed(value_ ^ value); }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace dtutils::sim
