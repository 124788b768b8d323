// SPDX-License-Identifier: MIT
// The 8-byte words of a table: what a slot is in, where a bucket lies, and where the directory is.
#pragma once

#include <cstdint>

namespace hashtable::detail {

/// What a slot holds. A slot belongs to one key from its claim until its bucket is rebuilt.
enum class SlotState : std::uint8_t {
  /// Nobody has claimed it since the bucket was made.
  kEmpty = 1,
  /// A writer has claimed it and is about to write its entry.
  kClaimed,
  /// Its key has a value.
  kLive,
  /// Its key was removed.
  kAbsent,
  /// Its writer died before the entry was there.
  kDead,
};

/// The word of a slot; all changes of a slot go through it.
///
///     63    48 | 47    32 | 31    16 | 15       6 | 5    | 4      | 3      | 2   0
///     life     | count    | owner    | fingerprint| cell | locked | frozen | state
///
/// Life and count together are the version. The life tells the block that the memory is now from
/// those that it was before; the count grows with each change. The owner is the worker that changed
/// the slot last. `locked`: the owner is about to write the other cell. `frozen`: the bucket
/// is being rebuilt, and the slot never changes any more.
struct SlotWord {
  /// The bits.
  std::uint64_t raw = 0;

  /// Bits of the fingerprint.
  static constexpr unsigned kFingerprintBits = 10;
  /// Changes of one slot, before its bucket must be rebuilt.
  static constexpr std::uint32_t kMaxCount = 0xff00;
  /// The flag of a slot that never changes any more.
  static constexpr std::uint64_t kFrozen = 1u << 3;
  /// The flag of a slot whose owner writes.
  static constexpr std::uint64_t kLocked = 1u << 4;

  /// From its parts, neither frozen nor locked.
  static constexpr SlotWord make(SlotState state, std::uint32_t fingerprint, std::uint16_t owner,
                                 std::uint32_t version, unsigned cell) noexcept {
    return {std::uint64_t{version} << 32 | std::uint64_t{owner} << 16 |
            std::uint64_t{fingerprint} << 6 | std::uint64_t{cell} << 5 |
            static_cast<std::uint64_t>(state)};
  }
  /// The word of an empty slot of a block whose versions begin with `birth`.
  static constexpr SlotWord empty(std::uint32_t birth) noexcept {
    return make(SlotState::kEmpty, 0, 0, birth, 0);
  }

  /// Its parts.
  constexpr SlotState state() const noexcept { return static_cast<SlotState>(raw & 7); }
  /// Nothing changes it any more.
  constexpr bool frozen() const noexcept { return (raw & kFrozen) != 0; }
  /// Its owner writes the other cell.
  constexpr bool locked() const noexcept { return (raw & kLocked) != 0; }
  /// Which cell has the value: 0 or 1.
  constexpr unsigned cell() const noexcept { return raw >> 5 & 1; }
  /// Of its key.
  constexpr std::uint32_t fingerprint() const noexcept {
    return static_cast<std::uint32_t>(raw >> 6) & ((1u << kFingerprintBits) - 1);
  }
  /// The worker that changed it last, by its rank.
  constexpr std::uint16_t owner() const noexcept { return static_cast<std::uint16_t>(raw >> 16); }
  /// Grows with each change.
  constexpr std::uint32_t version() const noexcept { return static_cast<std::uint32_t>(raw >> 32); }
  /// The life of the block that it belongs to.
  constexpr std::uint32_t life() const noexcept { return version() >> 16; }
  /// It was changed so often that it cannot be changed again.
  constexpr bool worn() const noexcept { return (version() & 0xffff) >= kMaxCount; }
  /// A writer is between its claim and its write.
  constexpr bool in_progress() const noexcept { return state() == SlotState::kClaimed || locked(); }
  friend constexpr bool operator==(const SlotWord&, const SlotWord&) = default;
};

/// Where a block lies: its index in the region, its local depth, and its life, a number that tells
/// it from the blocks before it at that place. As the `next` of another block it also has the life
/// of that one in `holder`. It names no block when its own life is 0.
struct BucketWord {
  /// holder : 16 | life : 16 | depth : 8 | index : 24.
  std::uint64_t raw = 0;

  /// Blocks that a part can have.
  static constexpr std::uint32_t kMaxIndex = (1u << 24) - 1;

  /// From its parts.
  static constexpr BucketWord make(std::uint32_t index, unsigned depth,
                                   std::uint32_t life) noexcept {
    return {std::uint64_t{life} << 32 | std::uint64_t{depth} << 24 | index};
  }
  /// The `next` of a block of that life: this block, or none.
  constexpr BucketWord held_by(std::uint32_t life) const noexcept {
    return {(raw & 0xffff'ffff'ffff) | std::uint64_t{life} << 48};
  }
  /// Without the holder.
  constexpr BucketWord itself() const noexcept { return {raw & 0xffff'ffff'ffff}; }
  /// The life of the block that holds this word as its `next`.
  constexpr std::uint32_t holder() const noexcept { return static_cast<std::uint32_t>(raw >> 48); }
  /// Its place, in blocks from the beginning of the region.
  constexpr std::uint32_t index() const noexcept { return raw & kMaxIndex; }
  /// Bits of the hash that all its keys share.
  constexpr unsigned depth() const noexcept { return raw >> 24 & 0xff; }
  /// See above; from 1.
  constexpr std::uint32_t life() const noexcept { return raw >> 32 & 0xffff; }
  /// The version that its slots begin with.
  constexpr std::uint32_t birth() const noexcept { return life() << 16; }
  /// It names a block.
  explicit constexpr operator bool() const noexcept { return life() != 0; }
  friend constexpr bool operator==(const BucketWord&, const BucketWord&) = default;
};

/// The first word of a region: where its directory is, which has 2^depth bucket words.
struct DirectoryWord {
  /// depth : 8 | place in words : 32. A directory moves only to become deeper, so no word comes
  /// back.
  std::uint64_t raw = 0;

  /// From its parts.
  static constexpr DirectoryWord make(unsigned depth, std::uint64_t place) noexcept {
    return {std::uint64_t{depth} << 32 | place};
  }
  /// Bits of the hash that choose an entry.
  constexpr unsigned depth() const noexcept { return raw >> 32 & 0xff; }
  /// Words from the beginning of the region.
  constexpr std::uint64_t place() const noexcept { return raw & 0xffff'ffff; }
  friend constexpr bool operator==(const DirectoryWord&, const DirectoryWord&) = default;
};

}  // namespace hashtable::detail
