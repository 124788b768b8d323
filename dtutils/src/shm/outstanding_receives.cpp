// SPDX-License-Identifier: MIT
// Counting receives by the words of their slots.
#include "shm/outstanding_receives.hpp"

#include <bit>

namespace dtutils::shm {

OutstandingReceives::OutstandingReceives(const RingPlace& ring, std::uint32_t depth)
    : ring_(ring), depth_(depth), in_order_(std::bit_ceil(depth)) {
  held_.reserve(depth);
}

bool OutstandingReceives::has_room(ControlSegment& segment) noexcept {
  while (count() >= depth_ && first_ != last_ && !is_posted(segment, oldest())) {
    settle_oldest(segment);
  }
  if (count() < depth_) return true;
  std::erase_if(held_, [&](std::uint64_t position) { return !is_held(segment, position); });
  return count() < depth_;
}

void OutstandingReceives::add(ControlSegment& segment, std::uint64_t position) noexcept {
  const std::uint64_t slots = ring_.capacity();
  // All positions of the lap before, up to the one in this slot, were taken, and this slot was
  // given back: from now on its word speaks of the new receive.
  while (first_ != last_ && oldest() + slots < position) settle_oldest(segment);
  if (first_ != last_ && oldest() + slots == position) ++first_;
  std::erase_if(held_, [&](std::uint64_t held) { return (held - position) % slots == 0; });
  in_order_[last_++ & (in_order_.size() - 1)] = position;
}

std::uint64_t OutstandingReceives::word_at(ControlSegment& segment,
                                           std::uint64_t position) const noexcept {
  // Relaxed: who claims the slot synchronizes with the taker; here it is only counted.
  return segment.slot<ReceiveSlot>(ring_, position)->word.load(std::memory_order_relaxed);
}

bool OutstandingReceives::is_posted(ControlSegment& segment,
                                    std::uint64_t position) const noexcept {
  return word_at(segment, position) == slot_word(position >> ring_.shift, SlotState::kFull);
}

bool OutstandingReceives::is_held(ControlSegment& segment, std::uint64_t position) const noexcept {
  return slot_state(word_at(segment, position)) == SlotState::kTaken;
}

void OutstandingReceives::settle_oldest(ControlSegment& segment) noexcept {
  const std::uint64_t position = oldest();
  ++first_;
  if (is_held(segment, position)) held_.push_back(position);
}

}  // namespace dtutils::shm
