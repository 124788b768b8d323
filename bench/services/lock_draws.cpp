// SPDX-License-Identifier: MIT
// Draws of locks.
#include "bench/services/lock_draws.hpp"

#include <algorithm>
#include <cmath>

namespace services_bench {
namespace {

std::uint64_t mixed(std::uint64_t n) noexcept {
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
  n = (n ^ n >> 27) * 0x94d049bb133111ebu;
  return n ^ n >> 31;
}

}  // namespace

LockDraws draw_locks_by_zipf(std::uint64_t seed) {
  static const std::vector<double> up_to = [] {
    std::vector<double> sums(kDrawnLocks);
    double sum = 0;
    for (std::uint32_t i = 0; i < kDrawnLocks; ++i) sums[i] = sum += std::pow(i + 1, -0.99);
    for (double& each : sums) each /= sum;
    return sums;
  }();
  LockDraws draws(kLockDraws);
  for (std::size_t i = 0; i < kLockDraws; ++i) {
    const double at = static_cast<double>(mixed(seed * kLockDraws + i) >> 11) * 0x1p-53;
    const auto lock = static_cast<std::uint32_t>(std::lower_bound(up_to.begin(), up_to.end(), at) -
                                                 up_to.begin());
    draws[i] = std::min(lock, kDrawnLocks - 1) << 1 | (mixed(i * 7 + seed) & 1);
  }
  return draws;
}

LockDraws draw_one_lock(std::uint64_t seed) {
  LockDraws draws(kLockDraws);
  for (std::size_t i = 0; i < kLockDraws; ++i) draws[i] = mixed(i * 7 + seed) & 1;
  return draws;
}

}  // namespace services_bench
