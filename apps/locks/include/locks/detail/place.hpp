// SPDX-License-Identifier: MIT
// Wire format: the place of one request in a queue, the mailbox that others write.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace locks::detail {

/// How a request wants the lock.
enum class Mode : std::uint8_t { kExclusive = 1, kShared = 2 };

/// What a request is doing, as its owner has last said. Values travel.
enum class Phase : std::uint8_t {
  /// The place is not in use.
  kFree = 0,
  /// The place is in use, and the words of the lock do not know of it.
  kEntering = 1,
  /// In the queue, not granted; or granted, when Place::granted says so.
  kWaiting = 2,
  /// Exclusive: first in line, waits for the last readers.
  kDraining = 3,
  /// Holds the lock.
  kHeld = 4,
  /// Exclusive: gives the lock up, waits for what its followers tell.
  kReleasing = 5,
  /// The home is gone; others may still write here until they know it too.
  kRetired = 6,
};

/// How a wait has ended: the upper half of Place::granted. Values travel.
enum class Verdict : std::uint32_t {
  kGranted = 0,
  kOwnerDied = 1,
  kHomeGone = 2,
  /// A repair found no room for a reader: it asks again.
  kAgain = 3,
};

/// The number of a place in the whole job; 0: none. Upper 20 bits: rank of the worker + 1.
using PlaceNumber = std::uint32_t;
inline constexpr unsigned kSlotBits = 12;
inline constexpr std::uint32_t kMaxPlaces = 1u << kSlotBits;
inline constexpr std::uint32_t kMaxWorkers = (1u << (32 - kSlotBits)) - 2;
/// Stands for an exclusive holder that died, until the next exclusive holder has come.
inline constexpr PlaceNumber kDied = 1;
/// As follower of a place that gives the lock up: the home has done that for it.
inline constexpr PlaceNumber kReleasedByHome = 2;

constexpr PlaceNumber place_number(std::uint32_t rank, std::uint32_t slot) noexcept {
  return (rank + 1) << kSlotBits | slot;
}
constexpr std::uint32_t rank_of(PlaceNumber number) noexcept { return (number >> kSlotBits) - 1; }
constexpr std::uint32_t slot_of(PlaceNumber number) noexcept { return number & (kMaxPlaces - 1); }
/// Whether the number names a place, and is no mark.
constexpr bool is_place(PlaceNumber number) noexcept { return (number >> kSlotBits) != 0; }

/// Two halves of a word.
constexpr std::uint64_t pair_word(std::uint32_t high, std::uint32_t low) noexcept {
  return std::uint64_t{high} << 32 | low;
}
constexpr std::uint32_t high(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> 32);
}
constexpr std::uint32_t low(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word);
}

/// Readers that can wait for one exclusive holder. A further one enqueues as exclusive.
inline constexpr std::uint32_t kReaders = 32;
/// Readers of `count` that wait in their mailbox; those beyond are not counted by anybody.
constexpr std::uint32_t waiting_readers(std::uint32_t count) noexcept {
  return std::min(count, kReaders);
}

/// Registered memory at the worker that asks. While no repair goes on:
///
///     line 0  written by the one before (granted) and the one behind (next)
///     line 1  written by the owner
///     line 2  written by the readers that wait for this one, each its own element
///
/// A home that repairs its locks reads all of it and writes lines 0 and 2, while nobody else does.
struct alignas(64) Place {
  /// A dtutils::Synchronizer: Verdict << 32 | 1 while it waits, else 0.
  std::uint64_t granted;
  /// The exclusive request behind this one << 32 | readers between the two; 0: none has told.
  std::uint64_t next;
  /// Exclusive: releases of readers to wait for once it is granted.
  std::uint64_t drain;
  std::uint64_t unused0[5];

  /// Address of the LockWords at the home.
  std::uint64_t lock;
  /// The exclusive request before this one, 0 or a mark; DSLR: next exclusive, when it came.
  std::uint32_t before;
  /// Readers since then; DSLR: next shared, when it came.
  std::uint32_t count;
  /// The home.
  std::uint16_t home;
  /// Mode of the request. A reader that found no room is exclusive.
  Mode mode;
  Phase phase;
  /// Releasing: 1 when the word does not name any place any more, 2 when it names one behind this,
  /// which will tell.
  std::uint8_t detached;
  /// The holder before died.
  std::uint8_t owner_died;
  /// Asked for by the program of the worker, and not by a fiber.
  std::uint8_t by_program;
  std::uint8_t unused1;
  /// Where values land that nobody reads.
  std::uint64_t seen;
  std::uint64_t unused2[4];

  /// PlaceNumber of the reader that came as number i.
  std::uint32_t readers[kReaders];
};
static_assert(sizeof(Place) == 256 && offsetof(Place, lock) == 64 &&
              offsetof(Place, readers) == 128);
static_assert(std::is_trivially_copyable_v<Place> && std::is_standard_layout_v<Place>);

}  // namespace locks::detail
