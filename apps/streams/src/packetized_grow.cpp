// SPDX-License-Identifier: MIT
// How the ring of a direction grows: offered by the receiver, begun by the sender.
#include <atomic>

#include "packetized.hpp"

namespace streams {
namespace {

/// Relaxed throughout: a sum, which orders nothing.
std::atomic<std::size_t> larger_rings{0};

}  // namespace

bool RingBudget::take(std::size_t bytes) noexcept {
  if (larger_rings.fetch_add(bytes, std::memory_order_relaxed) + bytes > kLargerRings) {
    larger_rings.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  taken_ += bytes;
  return true;
}

void RingBudget::give_back() noexcept {
  if (taken_ != 0) larger_rings.fetch_sub(taken_, std::memory_order_relaxed);
  taken_ = 0;
}

void Packetized::offer_larger_ring() noexcept {
  if (larger_offered_ || !ring_.may_grow()) return;
  const std::size_t at = kStagingAt + staging_ + sizes_.initial;
  larger_offered_ = budget_.take(sizes_.larger) && link_.take_pages(at, sizes_.larger);
  if (larger_offered_) return;
  // Memory may come back, but to ask for it must stay rare.
  budget_.give_back();
  times_full_ = 0;
  full_before_offer_ *= 2;
}

bool Packetized::look_for_larger_ring() noexcept {
  const std::uint64_t word = load(board().grown);
  if (word == 0) return true;
  // Nothing behind it was told of before it could be seen.
  const std::int64_t ahead = ahead_of(word, arrived_, kCountBits);
  const std::uint64_t at = arrived_ + static_cast<std::uint64_t>(ahead);
  if (!dtutils::is_hashed_word(word, kGrownWord) || ahead < 0 || at - taken_ > ring_.size()) {
    return false;
  }
  ring_.grow(at);
  return true;
}

void Packetized::begin_larger_ring() noexcept {
  // One more request than what comes behind it may take.
  if (!link_.has_room(kRoomToSend + 1)) poll_sends();
  if (!link_.has_room(kRoomToSend + 1)) return;
  std::uint64_t word = count_word(kGrownWord, accepted_);
  const unsigned flags = link_.flags(false);
  if (!link_.count(link_.pair().post_write({&word, sizeof word, 0},
                                           link_.there(offsetof(Board, grown), sizeof word),
                                           written_ << 2 | kWritten, flags | dtutils::kInlined),
                   flags)) {
    return;
  }
  if ((flags & dtutils::kSignaled) != 0) signaled_ = written_;
  ring_there_.grow(accepted_);
  signal_part_ = ring_there_.size() / kPartsOfRing;
  switching_ = true;
  pack_until_ = 0;
}

}  // namespace streams
