// SPDX-License-Identifier: MIT
// Which lock an owner takes next, and in which mode: what the contended cases draw beforehand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace services_bench {

/// Locks that draw_locks_by_zipf draws from.
constexpr std::uint32_t kDrawnLocks = 100'000;
/// Draws of an owner, before they begin anew.
constexpr std::size_t kLockDraws = 1u << 16;

/// What an owner locks, one after the other: twice the number of a lock; the lowest bit: shared.
using LockDraws = std::vector<std::uint32_t>;

/// Zipf's law with exponent 0.99, by its distribution function; half of the draws are shared.
LockDraws draw_locks_by_zipf(std::uint64_t seed);
/// Lock 0 alone; half of the draws are shared.
LockDraws draw_one_lock(std::uint64_t seed);

}  // namespace services_bench
