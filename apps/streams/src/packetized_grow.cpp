// SPDX-License-Identifier: MIT
// How the ring of a direction grows: offered by the receiver, begun by the sender.
#include <algorithm>
#include <atomic>

#include "packetized.hpp"

namespace streams {

// The ring grows once, when it was full often (ring.hpp):
//
//   receiver  takes memory for the larger ring; writes into `larger` where it is; offers it by a
//             flag beside the count of bytes taken
//   sender    takes as much staging memory, where all bytes leave from such, if there is some; with
//             nothing packed: writes into `grown` which byte is the first one of the larger ring;
//             all bytes from that one on go there
//   receiver  looks at `grown` before it believes in a count that may be behind that byte
//
// One queue pair keeps the order of the sender's writes, so the receiver knows of the larger ring
// before it knows of a byte in it. What is packed is found by reading, which that does not order:
// so the sender packs nothing until it knows that the receiver has bytes of the larger ring, and
// until then does not use staging memory again that the receiver may read. It packs nothing at all
// any more where the larger ring has more bytes than the staging memory of which the receiver
// knows.

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

void RingBudget::give_back(std::size_t bytes) noexcept {
  larger_rings.fetch_sub(bytes, std::memory_order_relaxed);
  taken_ -= bytes;
}

void Packetized::offer_larger_ring() noexcept {
  if (larger_offered_ || !ring_.may_grow()) return;
  if (larger_.length == 0 && !make_larger_ring()) {
    // Memory may come back, but to ask for it must stay rare.
    times_full_ = 0;
    full_before_offer_ *= 2;
    return;
  }
  larger_offered_ = tell_of_larger_ring();
}

bool Packetized::make_larger_ring() noexcept {
  if (!budget_.take(sizes_.larger)) return false;
  if (direct_ != 0 && link_.take_pages(larger_behind(), sizes_.larger)) {
    larger_.length = sizes_.larger;
  } else if (direct_ == 0 && later_ring_.take(domain_, sizes_.larger)) {
    larger_ = later_ring_.region().local(0, sizes_.larger);
  } else {
    budget_.give_back(sizes_.larger);
    return false;
  }
  return true;
}

bool Packetized::tell_of_larger_ring() noexcept {
  // One more request than what comes behind it may take.
  if (!link_.has_room(kRoomToSend + 1)) poll_sends();
  if (!link_.has_room(kRoomToSend + 1)) return false;
  const auto page = reinterpret_cast<std::uint64_t>(larger_.address) >> kPageBits;
  const std::uint32_t key = direct_ != 0 ? link_.region().rkey() : later_ring_.region().rkey();
  LargerRing words{dtutils::hashed_word(page, kLargerAtWord),
                   dtutils::hashed_word(key, kLargerKeyWord)};
  return post_words(&words, sizeof words, offsetof(Board, larger));
}

bool Packetized::may_begin_larger_ring() const noexcept {
  return larger_offered_there_ && ring_there_.may_grow();
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
  const std::uint64_t page = load(board().larger.page);
  const std::uint64_t key = load(board().larger.key);
  if (!dtutils::is_hashed_word(page, kLargerAtWord) ||
      !dtutils::is_hashed_word(key, kLargerKeyWord)) {
    return;
  }
  // Who has packed nothing so far has nothing that the receiver may read.
  const bool packed = packs_;
  if (direct_ == 0) enlarge_staging();
  std::uint64_t word = count_word(kGrownWord, accepted_);
  if (!post_words(&word, sizeof word, offsetof(Board, grown))) return;
  larger_there_ = {(page & dtutils::kHashedMask) << kPageBits, ring_there_.sizes().larger,
                   static_cast<std::uint32_t>(key & dtutils::kHashedMask), 0, 0};
  ring_there_.grow(accepted_);
  signal_part_ = part_to_signal();
  switching_ = packed;
  pack_until_ = 0;
}

void Packetized::enlarge_staging() noexcept {
  const std::uint32_t there = ring_there_.sizes().larger;
  if (staging_.length >= there) return;
  packs_ = false;
  const std::uint32_t size = std::min(there, sizes_.larger);
  if (staging_.length >= size || !budget_.take(size)) return;
  if (!later_staging_.take(domain_, size)) return budget_.give_back(size);
  // What is under way leaves from the first one, which is not used again.
  staging_ = later_staging_.region().local(0, size);
}

}  // namespace streams
