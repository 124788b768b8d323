// SPDX-License-Identifier: MIT
// What a worker keeps of entries that it has found elsewhere.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "dtutils/error.hpp"
#include "hashtable/detail/word.hpp"

namespace hashtable::detail {

/// Entries with the slot word that they were found with. A word never comes back to a slot with
/// another value (life and count grow), so an equal word means an equal value. The place of an
/// entry is given by its hash; a later one replaces the one before. Owner thread only.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
class Cache {
 public:
  /// An entry.
  struct Line {
    /// Its slot word; 0: there is none.
    SlotWord word{};
    /// The hash of its key.
    std::uint64_t hash = 0;
    /// Its key.
    std::array<std::uint64_t, kKeyWords> key;
    /// Its value.
    std::array<std::uint64_t, kValueWords> value;
    /// The block that has the slot.
    std::uint32_t block = 0;
    /// The word of the slot, in words of the block.
    std::uint32_t at = 0;
  };

  /// Entries that there can be at most.
  static constexpr std::uint32_t kMost = 1 << 26;

  /// Room for so many entries; 0: none. Throws Error. Setup only.
  void resize(std::uint32_t entries) {
    if (entries > kMost) {
      throw dtutils::Error("hashtable::HashTable", "it would keep too many entries",
                           "set Options::cached to 67108864 at most");
    }
    lines_.assign(entries == 0 ? 0 : std::bit_ceil(entries), {});
  }
  /// Whether there is room for any.
  bool wanted() const noexcept { return !lines_.empty(); }
  /// Where the entry of a hash is, or would be.
  Line& line(std::uint64_t hash) noexcept { return lines_[hash >> 20 & (lines_.size() - 1)]; }

  /// Finds that an entry here has answered.
  std::uint64_t hits = 0;
  /// Finds that looked here.
  std::uint64_t looks = 0;

 private:
  std::vector<Line> lines_;
};

}  // namespace hashtable::detail
