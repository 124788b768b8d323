// SPDX-License-Identifier: MIT
// Heap: first fit from above, blocks in the order of their return from below.
#include "hashtable/detail/heap.hpp"

#include <algorithm>
#include <iterator>

namespace hashtable::detail {

std::uint32_t Heap::blocks_left(std::uint32_t enough) const noexcept {
  const std::uint64_t never_used =
      std::min<std::uint64_t>(bottom_ / block_words_, BucketWord::kMaxIndex) - blocks_;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(enough, free_blocks_.size() + never_used));
}

std::optional<BucketWord> Heap::take_block() {
  if (blocks_left(1) == 0) return std::nullopt;
  if (bottom_ / block_words_ > blocks_ && blocks_ < BucketWord::kMaxIndex) {
    lives_.push_back(1);
    return BucketWord::make(blocks_++, 0, 1);
  }
  const std::uint32_t index = free_blocks_.front();
  free_blocks_.pop_front();
  return BucketWord::make(index, 0, lives_[index - first_]);
}

void Heap::give_block(std::uint32_t index) {
  // 0 means that there is no block.
  if (++lives_[index - first_] == 0) lives_[index - first_] = 1;
  free_blocks_.push_back(index);
}

std::optional<std::uint64_t> Heap::take(std::uint64_t words) {
  words = (words + 7) / 8 * 8;
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    if (at->second < words) continue;
    const auto [place, size] = *at;
    free_.erase(at);
    if (size > words) free_[place + words] = size - words;
    taken_ += words;
    return place;
  }
  const std::uint64_t top = std::uint64_t{blocks_} * block_words_;
  if (bottom_ < top || bottom_ - top < words) return std::nullopt;
  bottom_ -= words;
  bottom_ &= ~std::uint64_t{7};
  if (bottom_ < top) {
    bottom_ += words;
    return std::nullopt;
  }
  taken_ += words;
  return bottom_;
}

void Heap::give(std::uint64_t place, std::uint64_t words) {
  words = (words + 7) / 8 * 8;
  taken_ -= words;
  auto after = free_.lower_bound(place);
  if (after != free_.end() && place + words == after->first) {
    words += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == place) {
      place = before->first;
      words += before->second;
      free_.erase(before);
    }
  }
  if (place == bottom_) {
    bottom_ += words;
  } else {
    free_[place] = words;
  }
}

}  // namespace hashtable::detail
