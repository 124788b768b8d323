// SPDX-License-Identifier: MIT
// All entries of one bucket, as they were at one moment each.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hashtable/detail/examine.hpp"

namespace hashtable::detail {

/// What a walk keeps of a bucket. Owner thread only.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
class Entries {
 public:
  /// A key.
  using Key = std::array<std::uint64_t, kKeyWords>;
  /// Its value.
  using Value = std::array<std::uint64_t, kValueWords>;

  /// Reads all blocks of a bucket. False: the directory is stale, or the bytes changed; then
  /// nothing was collected.
  template <class Port>
  bool collect(Port& port, BucketWord bucket) {
    all_.clear();
    frozen_ = false;
    for (BucketWord block = bucket; block;) {
      const std::uint64_t* const words = port.read(block.index());
      unsure_count_ = 0;
      for (std::uint32_t slot = 0; slot < kShape.slots; ++slot) {
        if (!collect(words, block, slot)) return false;
      }
      const BucketWord next{load(words + 1)};
      if (next.holder() != block.life()) return false;
      const std::span<const SeenSlot> unsure(unsure_.data(), unsure_count_);
      if (!are_unchanged<kKeyWords, kValueWords>(port, block, unsure)) return false;
      block = next.itself();
    }
    return true;
  }
  /// What was collected holds only if the bucket is in the directory still.
  bool frozen() const noexcept { return frozen_; }
  /// What was collected.
  const std::vector<std::pair<Key, Value>>& all() const noexcept { return all_; }

 private:
  static constexpr Shape kShape = shape_of(kKeyWords, kValueWords);

  bool collect(const std::uint64_t* words, BucketWord block, std::uint32_t slot) {
    const SlotWord word{load(words + kShape.word_at(slot))};
    if (word.life() != block.life()) return false;
    frozen_ |= word.frozen();
    if (word.state() != SlotState::kLive) return true;
    Key key;
    Value value;
    for (std::uint32_t i = 0; i < kKeyWords; ++i) key[i] = load(words + kShape.key_at(slot) + i);
    const auto whole = [&](unsigned cell, std::uint32_t version) {
      return read_cell<kKeyWords, kValueWords>(words, slot, cell, version, key, value);
    };
    if (!whole(word.cell(), word.version())) {  // as in examine()
      unsure_[unsure_count_++] = {slot, word};
      if (!whole(1 - word.cell(), word.version() - 1)) {
        return whole(1 - word.cell(), word.version() - 2) || word.version() == block.birth() + 1;
      }
    }
    all_.emplace_back(key, value);
    return true;
  }

  std::vector<std::pair<Key, Value>> all_;
  /// Slots of the block whose last write seemed to be still arriving.
  std::array<SeenSlot, kMaxSlots> unsure_;
  std::uint32_t unsure_count_ = 0;
  bool frozen_ = false;
};

}  // namespace hashtable::detail
