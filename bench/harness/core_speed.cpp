// SPDX-License-Identifier: MIT
// Loops of independent additions.
#include "bench/harness/core_speed.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench/harness/clock.hpp"
#include "bench/harness/constants.hpp"
#include "bench/harness/stats.hpp"

namespace bench {
namespace {

// As many chains as keep all adders of a core busy, and so many additions that the clock and the
// loop count for little.
void add_independently() noexcept {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
  std::uint64_t d = 0;
  std::uint64_t e = 0;
  const auto add = [&]() __attribute__((always_inline)) {
    ++a, ++b, ++c, ++d, ++e;
    // Keeps the additions apart.
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
  };
  for (int i = 0; i < kCoreSpeedLoops; ++i) {
    add(), add(), add(), add(), add(), add(), add(), add();
    add(), add(), add(), add(), add(), add(), add(), add();
  }
}

}  // namespace

double CoreSpeed::measure() {
  std::vector<double> speeds;
  for (int chunk = 0; chunk < kCoreSpeedChunks; ++chunk) {
    speeds.push_back(1 / time_ns(add_independently));
  }
  const Summary summary = summarize(speeds);
  best_ = std::max(best_, summary.max);
  return summary.median / best_;
}

}  // namespace bench
