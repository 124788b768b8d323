// SPDX-License-Identifier: MIT
// How the bytes of a bucket lie, how keys are hashed, and how a half-written cell is told apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dtutils/device_memory.hpp"
#include "hashtable/detail/word.hpp"

namespace hashtable::detail {

/// Words that one block of a bucket should have, as far as its slots allow: it is read at once.
inline constexpr std::uint32_t kBlockWords = 64;
/// Slots that it has at least and at most.
inline constexpr std::uint32_t kMinSlots = 4;
/// See kMinSlots.
inline constexpr std::uint32_t kMaxSlots = 16;

/// The bytes of a block, all in words of 8 bytes. A bucket is a block and the chain of further
/// blocks behind it, all of this form:
///
///     life | next | range | - | slot 0 | slot 1 | ...
///     slot = cell A | slot word | cell B | key           cell = check | value
///
/// A write of cell A and the slot word, or of the slot word, cell B and the key, is one write.
/// Nothing is assumed about the order in which the words of one read or write are moved: each slot
/// word, and `next`, say which life of the block they are of, and a cell has a check.
struct Shape {
  /// Words of a key.
  std::uint32_t key_words;
  /// Words of a value.
  std::uint32_t value_words;
  /// Slots of a block.
  std::uint32_t slots;
  /// Words of a block: a multiple of a cache line.
  std::uint32_t block_words;

  /// Where the slots begin.
  static constexpr std::uint32_t kSlots = 4;
  /// Words of a slot.
  constexpr std::uint32_t slot_words() const noexcept { return 2 * value_words + 3 + key_words; }
  /// The first word of a slot.
  constexpr std::uint32_t slot_at(std::uint32_t slot) const noexcept {
    return kSlots + slot * slot_words();
  }
  /// The word of a slot.
  constexpr std::uint32_t word_at(std::uint32_t slot) const noexcept {
    return slot_at(slot) + 1 + value_words;
  }
  /// The check of a cell; its value follows.
  constexpr std::uint32_t cell_at(std::uint32_t slot, unsigned cell) const noexcept {
    return slot_at(slot) + cell * (2 + value_words);
  }
  /// The key of a slot.
  constexpr std::uint32_t key_at(std::uint32_t slot) const noexcept {
    return slot_at(slot) + 3 + 2 * value_words;
  }
  /// Bytes of a block.
  constexpr std::uint32_t block_bytes() const noexcept { return block_words * 8; }
  friend constexpr bool operator==(const Shape&, const Shape&) = default;
};

/// The shape for keys and values of so many words.
constexpr Shape shape_of(std::uint32_t key_words, std::uint32_t value_words) noexcept {
  Shape shape{key_words, value_words, 0, 0};
  const std::uint32_t fit = (kBlockWords - Shape::kSlots) / shape.slot_words();
  shape.slots = std::clamp(fit, kMinSlots, kMaxSlots);
  shape.block_words = (shape.slot_at(shape.slots) + 7) / 8 * 8;
  return shape;
}

/// A multiplication whose high half comes back into the low one.
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const auto product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// The hash of a key. Its highest bits choose the entry of the directory, its lower half the home,
/// its lowest bits the first slot and the fingerprint.
constexpr std::uint64_t hash_of(const std::uint64_t* key, std::uint32_t words) noexcept {
  std::uint64_t hash = 0x9e37'79b9'7f4a'7c15;
  for (std::uint32_t i = 0; i < words; ++i) {
    hash = mix(hash ^ key[i], 0xd6e8'feb8'6659'fd93) + 0xa076'1d64'78bd'642f;
  }
  return mix(hash, 0xe703'7ed1'a0b4'28db);
}
/// The part, of `parts`, that a key lives in.
constexpr std::uint32_t home_of(std::uint64_t hash, std::uint32_t parts) noexcept {
  return static_cast<std::uint32_t>((hash & 0xffff'ffff) * parts >> 32);
}
/// See SlotWord.
constexpr std::uint32_t fingerprint_of(std::uint64_t hash) noexcept {
  return hash & ((1u << SlotWord::kFingerprintBits) - 1);
}
/// Where the search of a block begins.
constexpr std::uint32_t first_slot(std::uint64_t hash, std::uint32_t slots) noexcept {
  return static_cast<std::uint32_t>((hash >> 10 & 0xfff) * slots >> 12);
}
/// Bits of a hash that a directory looks at, at most.
inline constexpr unsigned kMaxDepth = 30;
/// The entry of a directory of 2^depth words; 1 <= depth <= 63.
constexpr std::uint64_t entry_of(std::uint64_t hash, unsigned depth) noexcept {
  return hash >> (64 - depth);
}

/// What a whole cell holds in its first word: it depends on the version, the value and the key, so
/// a reader that finds another one knows that the bytes are of several writes.
constexpr std::uint64_t check_of(std::uint32_t version, const std::uint64_t* value,
                                 std::uint32_t value_words, const std::uint64_t* key,
                                 std::uint32_t key_words) noexcept {
  std::uint64_t check = version + 0x2d35'8dcc'aa6c'78a5;
  for (std::uint32_t i = 0; i < value_words; ++i)
    check = mix(check ^ value[i], 0x8bb8'4b93'962e'acc9);
  for (std::uint32_t i = 0; i < key_words; ++i) check = mix(check ^ key[i], 0x4b33'a62e'd433'd4a3);
  return check | 1;
}

/// The check of a run of bytes, a whole number of words.
std::uint64_t check_bytes(const std::uint64_t* words, std::size_t count) noexcept;

/// A word that a device or another thread may write. Any thread, wait-free.
inline std::uint64_t load(const std::uint64_t* word) noexcept {
  return dtutils::load_device_word(word);
}
/// The same for writing. Any thread, wait-free.
inline void store(std::uint64_t* word, std::uint64_t value) noexcept {
  dtutils::store_device_word(word, value);
}

}  // namespace hashtable::detail
