// SPDX-License-Identifier: MIT
// What the models of the shm device's rings share: the number of laps, and hints that lag.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "shm/slot_word.hpp"
#include "support/random.hpp"

namespace support {

/// After so many laps the number in a slot's word begins again.
inline constexpr std::uint64_t kLaps = std::uint64_t{1} << (64 - dtutils::shm::kLapShift);

/// Hints may lag, as after a thread was preempted before it stored one.
inline void age(std::atomic<std::uint64_t>& hint, std::uint64_t first, Random& random) {
  hint.store(std::max(first, hint.load() - std::min(hint.load() - first, random.below(2000))));
}

}  // namespace support
