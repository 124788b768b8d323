// SPDX-License-Identifier: MIT
// The word that guards one slot of a ring shared by several processes, any of which may die.
#pragma once

#include <atomic>
#include <cstdint>

namespace dtutils::shm {

/// A ring of 2^n slots is used by many producers and many consumers without a lock. Each slot has
/// one word: lap | owner | state. Position p lies in slot p % capacity and belongs to lap
/// p / capacity, of which the word keeps the low 36 bits: laps are compared as serial numbers.
/// Hints say where to begin to look; they may be stale, never ahead.
///
///   kEmpty(lap) --claim--> kClaimed(lap, owner) --publish--> kFull(lap, owner) --free-->
///   kEmpty(lap+1)
///
/// Between claim and publish the slot belongs to the claiming queue pair; kFull slots belong to
/// whoever wins the next exchange. kTaken marks a receive that a sender is copying out, kVoid a
/// completion that must be skipped, since its queue pair was reset or destroyed. When a claimer
/// dies the owner publishes in its place: one slot a completion, whoever makes it, so that nobody
/// who keeps within the depths meets a full ring (tests/dtutils/model/shm_rings.pml).
///
/// A claimer may be off its core for long, or stopped, and completions of others lie behind its
/// slot. So who polls detaches a completion slot that stays claimed (kClaimPatience):
///
///   kClaimed(lap, owner) --detach--> kDetached(lap, owner) --free--> kEmpty(lap+1)
///
/// The position of a detached slot is gone. Its claimer publishes by an exchange, which fails then;
/// it frees the slot and pushes its completion anew, behind all that came meanwhile. A queue pair
/// has at most one claimed slot in a queue, so its completions keep their order.
///
/// Positions are claimed strictly in order: a searcher passes only slots whose word says that
/// their position is gone, so it stops at the first free one, whatever the hint was. A word that
/// is several laps ahead says more: others have come past two laps before it, so the searcher leaps
/// (`step_past`); it looks at most three times round the ring.
/// A ring is full when the slot of the next position still is in the lap before. The exceptions are
/// a receive that one of several senders has taken, since that one may be off its core for long, or
/// stopped, and a detached completion: the producer raises the slot's lap, so that this position
/// counts as gone (skipped), and goes on to the next. Who holds the slot frees whatever lap it
/// finds there, by one addition.
/// With twice as many slots as receives may be outstanding, such a ring is never full: let p be the
/// next position, and f = p - capacity be posted and not taken. Nothing behind f was taken, since
/// takers go in order, so each position from f to p is posted or was skipped. A skipped one has a
/// slot that was taken from a position before f, so its receive was outstanding when f was posted.
/// Both sorts together are then fewer than twice the depth. The same holds for completions.
/// An exchange never meets a word again that it has seen before (the lap only grows), so one that
/// succeeds proves that nothing happened to the slot since its word was read.
enum class SlotState : std::uint64_t { kEmpty, kClaimed, kFull, kTaken, kVoid, kDetached };

/// Slots of a ring whose slots may be skipped, for each entry that may be outstanding (at least).
inline constexpr std::uint32_t kSlotsPerEntry = 2;

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
constexpr std::uint64_t with_state(std::uint64_t word, SlotState state) noexcept {
  return (word & ~std::uint64_t{7}) | static_cast<std::uint64_t>(state);
}
/// The same word in lap `lap`: the positions between are skipped.
constexpr std::uint64_t in_lap(std::uint64_t word, std::uint64_t lap) noexcept {
  return (lap << kLapShift) | (word & ((std::uint64_t{1} << kLapShift) - 1));
}
/// What to add to a taken or detached slot's word, in whatever lap it is by now, to make it the
/// empty one of the next lap.
constexpr std::uint64_t freeing(std::uint64_t word) noexcept {
  constexpr std::uint64_t kOneLap = std::uint64_t{1} << kLapShift;
  return kOneLap - (word & (kOneLap - 1));
}
constexpr std::uint64_t slot_owner(std::uint64_t word) noexcept {
  return (word >> kOwnerShift) & ((std::uint64_t{1} << kOwnerBits) - 1);
}
/// The queue pair of that owner, whichever side it is.
constexpr std::uint32_t owner_queue_pair(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(slot_owner(word) >> 1);
}
/// Laps that the slot is ahead of `lap`: 0 when it is in that lap, negative when it is behind.
constexpr std::int64_t laps_ahead(std::uint64_t word, std::uint64_t lap) noexcept {
  return static_cast<std::int64_t>(word - (lap << kLapShift)) >> kLapShift;
}
/// From a position whose slot is `ahead` (not negative) laps on to the first one that may be left.
constexpr std::uint64_t step_past(std::uint64_t position, std::int64_t ahead,
                                  unsigned capacity_shift) noexcept {
  const auto laps = static_cast<std::uint64_t>(ahead > 2 ? ahead - 2 : 0);
  return position + 1 + (laps << capacity_shift);
}
/// More looks at slots than any search takes. One that takes more goes through words that no
/// producer or consumer has written.
constexpr std::uint64_t max_looks(unsigned capacity_shift) noexcept {
  return 4096 + (std::uint64_t{8} << capacity_shift);
}

}  // namespace dtutils::shm
