// SPDX-License-Identifier: MIT
// Offers of the sender's memory.
#include <algorithm>
#include <atomic>

#include "dtutils/wait.hpp"
#include "zero_copy.hpp"

namespace streams {

bool ZeroCopy::may_offer(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= kZeroCopyFrom && frame_left_out_ == 0 && link().on_shm() &&
         !base_.cannot_send() && region_of(bytes) != nullptr;
}

const dtutils::MemoryRegion* ZeroCopy::region_of(std::span<const std::byte> bytes) noexcept {
  return sending_.find(const_cast<std::byte*>(bytes.data()), std::min(bytes.size(), kLargestOffer));
}

bool ZeroCopy::offer_ready() noexcept {
  return base_.writable() >= kUsefulSpace || base_.cannot_send();
}

bool ZeroCopy::offer(std::span<const std::byte> bytes) noexcept {
  const std::uint32_t number = number_ % kLastOffer + 1;
  const std::size_t length = std::min(bytes.size(), kLargestOffer);
  // seq_cst, as all accesses to this word: the peer changes it by compare-and-swap.
  std::atomic_ref(offers().word).store(OfferWord{number, OfferState::kOffered, 0}.raw());
  const Offer offer{frame_head(FrameKind::kOffer, length),
                    reinterpret_cast<std::uint64_t>(bytes.data()), region_of(bytes)->rkey(),
                    number};
  if (!base_.send_whole(std::as_bytes(std::span(&offer, 1)))) return false;
  number_ = number;
  offered_ = length;
  offer_taken_ = 0;
  return true;
}

OfferWord ZeroCopy::look_at_offer() noexcept {
  const OfferWord word = OfferWord::from(std::atomic_ref(offers().word).load());
  const bool reading = word.state == OfferState::kReading;
  if (word.number != number_ || (!reading && word.state != OfferState::kOffered) ||
      word.taken < offer_taken_ || word.taken > offered_) {
    link().give_up();
    return {number_, OfferState::kOffered, offer_taken_};
  }
  offer_taken_ = word.taken;
  return word;
}

bool ZeroCopy::settled() noexcept {
  static_cast<void>(base_.writable());
  return look_at_offer().taken == offered_ || link().broken() || base_.peer_closed();
}

Result ZeroCopy::conclude() noexcept {
  const bool gone = link().broken() || base_.peer_closed();
  dtutils::Deadline deadline(kPatienceWithReader);
  for (;;) {
    const OfferWord word = look_at_offer();
    if (word.taken == offered_ || link().broken()) break;
    if (word.state == OfferState::kReading && !gone && !deadline.passed()) {
      static_cast<void>(base_.writable());
      dtutils::cpu_pause();
      continue;
    }
    std::uint64_t expected = word.raw();
    if (std::atomic_ref(offers().word)
            .compare_exchange_strong(
                expected, OfferWord{number_, OfferState::kWithdrawn, word.taken}.raw())) {
      break;
    }
  }
  const bool all = offer_taken_ == offered_;
  offered_ = 0;
  if (all) return {offer_taken_, Status::kOk};
  return {offer_taken_, gone || link().broken() ? Status::kBrokenPipe : Status::kTimeout};
}

}  // namespace streams
