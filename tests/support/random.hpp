// SPDX-License-Identifier: MIT
// Random choices that can be repeated: show the seed in the test, set CARIAMA_TEST_SEED to run
// again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace support {

/// CARIAMA_TEST_SEED, else another one each time.
inline std::uint64_t test_seed() {
  const char* fixed = std::getenv("CARIAMA_TEST_SEED");
  return fixed != nullptr ? std::strtoull(fixed, nullptr, 10) : std::random_device{}();
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// 0 to `end` - 1.
  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(engine_);
  }
  bool one_in(std::size_t count) { return below(count) == 0; }
  /// 1 to `end`, small values as likely as large ones.
  std::size_t size_up_to(std::size_t end) {
    std::size_t bits = 0;
    while (end >> bits != 0) ++bits;
    return 1 + below(end >> below(bits));
  }

 private:
  std::mt19937_64 engine_;
};

/// How many of the `full` rounds of a long test to run: CARIAMA_STRESS_PERCENT of them (default
/// 100), at least one. For what gains little from many rounds under a sanitizer.
inline int rounds(int full) {
  const char* percent = std::getenv("CARIAMA_STRESS_PERCENT");
  return percent == nullptr ? full : std::max(1, full * std::atoi(percent) / 100);
}

}  // namespace support
