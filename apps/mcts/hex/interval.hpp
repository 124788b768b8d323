// SPDX-License-Identifier: MIT
// How sure a share of won games is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hex {

struct Interval {
  double low = 0;
  double high = 1;
};

/// Where the true share lies with 95 %, when `won` of `games` were won. Source: Wilson 1927.
inline Interval wilson(std::uint64_t won, std::uint64_t games) noexcept {
  if (games == 0) return {};
  constexpr double kZ = 1.959964;
  const auto n = static_cast<double>(games);
  const double share = static_cast<double>(won) / n;
  const double middle = (share + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
  const double half =
      kZ / (1 + kZ * kZ / n) * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  // Rounding goes past the ends: -0.0 % where none was won.
  return {won == 0 ? 0 : std::max(0.0, middle - half),
          won == games ? 1 : std::min(1.0, middle + half)};
}

}  // namespace hex
