// SPDX-License-Identifier: MIT
// The word that guards one slot of a ring shared by several processes, any of which may die.
#pragma once

#include <atomic>
#include <cstdint>

namespace dtutils::shm {

/// A ring of 2^n slots is used by many producers and many consumers without a lock. Each slot has
/// one word: lap | owner | state. Position p lies in slot p % capacity and belongs to lap
/// p / capacity. Hints say where to begin to look; they may be stale, never ahead.
///
///   kEmpty(lap) --claim--> kClaimed(lap, owner) --publish--> kFull(lap, owner) --free-->
///   kEmpty(lap+1)
///
/// Between claim and publish the slot belongs to the claiming queue pair; kFull slots belong to
/// whoever wins the next exchange. kTaken marks a receive that a sender is copying out, kVoid a
/// completion that must be skipped (its claimer died, or its queue pair was destroyed).
/// Positions are claimed strictly in order: a searcher passes only slots whose word says that
/// their position is gone, so it stops at the first free one, whatever the hint was.
enum class SlotState : std::uint64_t { kEmpty, kClaimed, kFull, kTaken, kVoid };

inline constexpr unsigned kOwnerShift = 3;
inline constexpr unsigned kOwnerBits = 25;
inline constexpr unsigned kLapShift = kOwnerShift + kOwnerBits;

/// Who claimed a slot: a queue pair number of the segment's process, and which side of it.
struct SlotOwner {
  std::uint32_t qp_num = 0;
  /// True when the process at the other end acts for this queue pair (receive completions).
  bool remote = false;

  std::uint64_t bits() const noexcept {
    return (static_cast<std::uint64_t>(qp_num) << 1) | (remote ? 1 : 0);
  }
};

constexpr std::uint64_t slot_word(std::uint64_t lap, SlotState state,
                                  std::uint64_t owner = 0) noexcept {
  return (lap << kLapShift) | (owner << kOwnerShift) | static_cast<std::uint64_t>(state);
}
constexpr SlotState slot_state(std::uint64_t word) noexcept {
  return static_cast<SlotState>(word & 7);
}
constexpr std::uint64_t slot_owner(std::uint64_t word) noexcept {
  return (word >> kOwnerShift) & ((std::uint64_t{1} << kOwnerBits) - 1);
}
constexpr std::uint64_t slot_lap(std::uint64_t word) noexcept { return word >> kLapShift; }

}  // namespace dtutils::shm
