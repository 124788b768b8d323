// SPDX-License-Identifier: MIT
// Which bytes of a part are in use: blocks of buckets from below, pieces of any size from above.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "hashtable/detail/word.hpp"

namespace hashtable::detail {

/// The sub-allocation of a region, in words. Memory that was a block of a bucket stays one, so that
/// the versions at an address only grow. Its records lie outside of the region. One thread at a
/// time.
class Heap {
 public:
  /// For a region of so many words, whose first `reserved` are not to be handed out.
  Heap(std::uint64_t words, std::uint64_t reserved, std::uint32_t block_words)
      : block_words_(block_words),
        blocks_((reserved + block_words - 1) / block_words),
        bottom_(words) {}

  /// A block, with its life. Empty when there is no memory. Memory that was never used comes first,
  /// then the block that was freed first: the longer a block rests, the fewer look at its old life.
  std::optional<BucketWord> take_block();
  /// Gives a block back.
  void give_block(std::uint32_t index);
  /// Blocks that take_block can give, at most `enough`.
  std::uint32_t blocks_left(std::uint32_t enough) const noexcept;
  /// Blocks handed out.
  std::uint32_t blocks() const noexcept {
    return blocks_ - first_ - static_cast<std::uint32_t>(free_blocks_.size());
  }

  /// The place of so many words; empty when there is no memory.
  std::optional<std::uint64_t> take(std::uint64_t words);
  /// Gives words back.
  void give(std::uint64_t place, std::uint64_t words);
  /// Words handed out by take().
  std::uint64_t taken() const noexcept { return taken_; }

 private:
  std::uint32_t block_words_;
  /// Blocks below this one were handed out at least once.
  std::uint32_t blocks_;
  const std::uint32_t first_ = blocks_;
  /// Words from here on were handed out at least once, or are in `free_`.
  std::uint64_t bottom_;
  std::uint64_t taken_ = 0;
  std::deque<std::uint32_t> free_blocks_;
  /// By index, minus first_.
  std::vector<std::uint16_t> lives_;
  /// Place and size.
  std::map<std::uint64_t, std::uint64_t> free_;
};

}  // namespace hashtable::detail
