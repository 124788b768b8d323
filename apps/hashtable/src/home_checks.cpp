// SPDX-License-Identifier: MIT
// Home: how full it is, and whether its structure is right.
#include "hashtable/detail/home.hpp"

namespace hashtable::detail {

Fill Home::fill() {
  const std::scoped_lock lock(mutex_);
  Fill fill{.buckets = buckets_, .depth = directory().depth()};
  const std::uint64_t size = std::uint64_t{1} << fill.depth;
  for (std::uint64_t i = 0; i < size;) {
    const BucketWord bucket{load(base_ + directory().place() + i)};
    const std::vector<BucketWord> chain = chain_of(bucket);
    bool full = true;
    for (const BucketWord block : chain) {
      fill.slots += shape_.slots;
      fill.chained += block != bucket;
      for (std::uint32_t slot = 0; slot < shape_.slots; ++slot) {
        const SlotWord seen{load(word(block.index(), shape_.word_at(slot)))};
        full = full && seen.state() != SlotState::kEmpty;
        fill.entries += seen.state() == SlotState::kLive;
        fill.chained_entries += seen.state() == SlotState::kLive && block != bucket;
      }
    }
    fill.full += full;
    i += std::uint64_t{1} << (fill.depth - bucket.depth());
  }
  return fill;
}

bool Home::invariant() {
  const std::scoped_lock lock(mutex_);
  const unsigned depth = directory().depth();
  std::uint64_t buckets = 0;
  for (std::uint64_t i = 0; i < std::uint64_t{1} << depth;) {
    const BucketWord bucket{load(base_ + directory().place() + i)};
    if (bucket.depth() > depth || bucket.depth() == 0) return false;
    const std::uint64_t count = std::uint64_t{1} << (depth - bucket.depth());
    for (std::uint64_t j = i; j < i + count; ++j) {
      if (load(base_ + directory().place() + j) != bucket.raw) return false;
    }
    for (const BucketWord block : chain_of(bucket)) {
      const std::uint64_t* const words = word(block.index(), 0);
      if (load(words) != block.life()) return false;
      if (load(words + 2) >> (64 - depth) != i) return false;
    }
    for (const Entry& entry : entries_of(chain_of(bucket))) {
      if (entry_of(entry.hash, bucket.depth()) != i / count) return false;
    }
    i += count;
    ++buckets;
  }
  return buckets == buckets_;
}

}  // namespace hashtable::detail
