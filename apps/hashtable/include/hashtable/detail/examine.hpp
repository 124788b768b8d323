// SPDX-License-Identifier: MIT
// Looking for a key in one block, in place or in a copy that an RDMA read brought.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "hashtable/detail/layout.hpp"

namespace hashtable::detail {

/// What a look at one block found.
enum class Look : std::uint8_t {
  /// The key has a value, which is in `value`.
  kValue,
  /// The key has a slot, and was removed.
  kAbsent,
  /// It has none in this bucket: `slot` is the one that it would get.
  kEmpty,
  /// It has none in this block, whose slots are all taken; `next` may lead on.
  kEnd,
  /// The memory is not that bucket any more.
  kStale,
  /// The bytes changed during the look.
  kTorn,
};

/// A slot as a look has seen it.
struct SeenSlot {
  /// Its number in the block.
  std::uint32_t slot;
  /// Its word.
  SlotWord word;
};

/// The result of a look. `slot` and `word` are of the slot that decided. It is to be checked by
/// holds() before it is believed, if it is `settling`, or `arriving` is not 0.
template <std::uint32_t kValueWords>
struct Seen {
  /// What was found.
  Look look = Look::kStale;
  /// A slot that was looked at is frozen: the bucket may have been replaced meanwhile.
  bool frozen = false;
  /// The last write to the slot is still arriving: its key has the value before.
  bool settling = false;
  /// A slot before that one is claimed by a writer of a key with this fingerprint.
  bool claimed = false;
  /// Number of the slot that decided.
  std::uint32_t slot = 0;
  /// Its word.
  SlotWord word{};
  /// That claimed slot, and its word.
  std::uint32_t claimed_slot = 0;
  /// See claimed_slot.
  SlotWord claimed_word{};
  /// Slots whose first entry seems to be on its way.
  std::uint32_t arriving = 0;
  /// Those.
  std::array<SeenSlot, kMaxSlots> arriving_slots;
  /// The next block of the bucket.
  BucketWord next{};
  /// The value.
  std::array<std::uint64_t, kValueWords> value;
};

/// Copies a cell; true when it is one write, of that version, for the key in the slot.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
[[gnu::always_inline]] inline bool read_cell(
    const std::uint64_t* block, std::uint32_t slot, unsigned cell, std::uint32_t version,
    const std::array<std::uint64_t, kKeyWords>& key,
    std::array<std::uint64_t, kValueWords>& value) noexcept {
  constexpr Shape kShape = shape_of(kKeyWords, kValueWords);
  const std::uint64_t* const at = block + kShape.cell_at(slot, cell);
  const std::uint64_t check = load(at);
  for (std::uint32_t i = 0; i < kValueWords; ++i) value[i] = load(at + 1 + i);
  return check == check_of(version, value.data(), kValueWords, key.data(), kKeyWords);
}

/// Looks for a key. The argument why one look is right:
///  - a key gets the first slot of the probe order that was empty, and keeps it as long as the
///    bucket lives; so an empty slot, or the end of the chain, ends the search;
///  - every word that takes part has the life of the block: the memory was that block whenever one
///    of them was read, in whatever order;
///  - a cell counts when its check fits the version in the slot word. Otherwise the last write is
///    still arriving, and the cell before it is whole: what it holds was true during this look. Or
///    the slot was changed twice between the moments at which its words were read; holds() tells.
/// Any thread, wait-free.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
[[gnu::always_inline]] inline void examine(const std::uint64_t* block, BucketWord bucket,
                                           std::uint64_t hash,
                                           const std::array<std::uint64_t, kKeyWords>& key,
                                           Seen<kValueWords>& seen) noexcept {
  constexpr Shape kShape = shape_of(kKeyWords, kValueWords);
  const std::uint32_t fingerprint = fingerprint_of(hash);
  seen.look = Look::kStale;
  seen.frozen = seen.settling = seen.claimed = false;
  seen.arriving = 0;
  const std::uint32_t first = first_slot(hash, kShape.slots);
  Look look = Look::kEnd;
  for (std::uint32_t i = 0; i < kShape.slots; ++i) {
    const std::uint32_t slot = first + i < kShape.slots ? first + i : first + i - kShape.slots;
    const SlotWord word{load(block + kShape.word_at(slot))};
    if (word.life() != bucket.life()) return;
    seen.frozen |= word.frozen();
    seen.slot = slot;
    seen.word = word;
    if (word.state() == SlotState::kEmpty) {
      look = Look::kEmpty;
      break;
    }
    if (word.fingerprint() != fingerprint || word.state() == SlotState::kDead) continue;
    bool mine = word.state() == SlotState::kClaimed;
    if (!mine) {
      std::array<std::uint64_t, kKeyWords> stored;
      for (std::uint32_t j = 0; j < kKeyWords; ++j) {
        stored[j] = load(block + kShape.key_at(slot) + j);
      }
      const bool live = word.state() == SlotState::kLive;
      const std::uint32_t version = word.version() - (live ? 0 : 1);
      look = live ? Look::kValue : Look::kAbsent;
      if (!read_cell<kKeyWords, kValueWords>(block, slot, word.cell(), version, stored, seen.value))
          [[unlikely]] {
        const unsigned other = 1 - word.cell();
        seen.settling = true;
        if (live && read_cell<kKeyWords, kValueWords>(block, slot, other, version - 1, stored,
                                                      seen.value)) {
          look = Look::kValue;
        } else if (live && read_cell<kKeyWords, kValueWords>(block, slot, other, version - 2,
                                                             stored, seen.value)) {
          look = Look::kAbsent;
        } else if (live && version == bucket.birth() + 1) {
          mine = true;  // the entry of its first writer is still arriving
          seen.settling = false;
          seen.arriving_slots[seen.arriving++] = {slot, word};
        } else {
          seen.look = Look::kTorn;
          return;
        }
      }
      if (!mine && stored == key) break;
      seen.settling = false;
      look = Look::kEnd;
    }
    if (mine && !seen.claimed) {
      seen.claimed = true;
      seen.claimed_slot = slot;
      seen.claimed_word = word;
    }
  }
  if (look == Look::kEnd) {
    const BucketWord next{load(block + 1)};
    if (next.holder() != bucket.life()) return;
    seen.next = next.itself();
  }
  seen.look = look;
}

/// Whether a look was right about writes to these slots that seemed to be still arriving: they were
/// if the words are the same afterwards, since then nobody has begun another write meanwhile.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords, class Port>
bool are_unchanged(Port& port, BucketWord block, std::span<const SeenSlot> slots) {
  constexpr Shape kShape = shape_of(kKeyWords, kValueWords);
  return std::ranges::all_of(slots, [&](const SeenSlot& seen) {
    return port.read_word(block.index(), kShape.word_at(seen.slot)) == seen.word.raw;
  });
}

/// The same of all that one look has seen.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords, class Port>
bool holds(Port& port, BucketWord block, const Seen<kValueWords>& seen) {
  const SeenSlot settling{seen.slot, seen.word};
  const std::span<const SeenSlot> arriving(seen.arriving_slots.data(), seen.arriving);
  return are_unchanged<kKeyWords, kValueWords>(port, block, {&settling, seen.settling ? 1u : 0u}) &&
         are_unchanged<kKeyWords, kValueWords>(port, block, arriving);
}

/// What examine() finds most often, in fewer instructions: the key has a value, in the first slot
/// of its probe order. False: it does not, or the slot is frozen, or its last write is still
/// arriving. Any thread, wait-free.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
[[gnu::always_inline]] inline bool first_has_value(
    const std::uint64_t* block, BucketWord bucket, std::uint64_t hash,
    const std::array<std::uint64_t, kKeyWords>& key,
    std::array<std::uint64_t, kValueWords>& value) noexcept {
  constexpr Shape kShape = shape_of(kKeyWords, kValueWords);
  // All bits but those that every value may have: count, owner, cell, locked.
  constexpr std::uint64_t kCompared =
      SlotWord::make(SlotState{7}, ~0u >> (32 - SlotWord::kFingerprintBits), 0, 0xffffu << 16, 0)
          .raw |
      SlotWord::kFrozen;
  const std::uint32_t slot = first_slot(hash, kShape.slots);
  const SlotWord word{load(block + kShape.word_at(slot))};
  const SlotWord wanted =
      SlotWord::make(SlotState::kLive, fingerprint_of(hash), 0, bucket.birth(), 0);
  if ((word.raw & kCompared) != wanted.raw) return false;
  for (std::uint32_t i = 0; i < kKeyWords; ++i) {
    if (load(block + kShape.key_at(slot) + i) != key[i]) return false;
  }
  return read_cell<kKeyWords, kValueWords>(block, slot, word.cell(), word.version(), key, value);
}

}  // namespace hashtable::detail
