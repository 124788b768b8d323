// SPDX-License-Identifier: MIT
// Offers of the sender's memory.
#include <algorithm>

#include "dtutils/wait.hpp"
#include "zero_copy.hpp"

namespace streams {
namespace {

std::size_t bytes_before_page(std::span<const std::byte> bytes) noexcept {
  return -reinterpret_cast<std::uintptr_t>(bytes.data()) % kGuardedPage;
}

/// Whole pages, so that what is left for the last part is not too little to be asynchronous.
std::size_t first_part(std::size_t bytes) noexcept {
  const std::size_t more = bytes > kLargestAsynchronous ? bytes - kLargestAsynchronous : 0;
  const std::size_t part = more < kGuardedPage ? bytes : more;
  return std::min(part, kLargestAsynchronous) / kGuardedPage * kGuardedPage;
}

}  // namespace

bool ZeroCopy::is_asynchronous(std::span<const std::byte> bytes) const noexcept {
  // Where pages begin does not decide.
  return guard_ != nullptr && bytes.size() + kGuardedPage > kAsynchronousFrom;
}

std::size_t ZeroCopy::bytes_to_copy(std::span<const std::byte> bytes) const noexcept {
  // Only whole pages can be protected.
  const std::size_t before = is_asynchronous(bytes) ? bytes_before_page(bytes) : 0;
  return before != 0 ? before : bytes.size();
}

bool ZeroCopy::offer_ready() noexcept {
  return base_.cannot_send() || (settled() && base_.writable() >= kUsefulSpace);
}

bool ZeroCopy::guard(std::span<const std::byte> bytes) noexcept {
  pages_ = {.begin = const_cast<std::byte*>(bytes.data()),
            .length = bytes.size(),
            .spare = spare_->data(),
            .word = &offers().word,
            .number = number_ % kLastOffer + 1};
  return guard_->protect(pages_);
}

ZeroCopy::Offering ZeroCopy::offer(std::span<const std::byte> bytes, bool waits) noexcept {
  if (bytes.size() < (link().on_shm() ? kZeroCopyFrom : kZeroCopyFromPinned) ||
      frame_left_out_ != 0 || !word_) {
    return Offering::kCopy;
  }
  if (!offer_ready()) return Offering::kLater;
  if (base_.cannot_send()) return Offering::kCopy;
  bool asynchronous = is_asynchronous(bytes);
  if (!asynchronous && !waits) return Offering::kCopy;
  if (asynchronous) {
    if (bytes_before_page(bytes) != 0) return Offering::kCopy;
    bytes = bytes.first(first_part(bytes.size()));
  }
  bytes = bytes.first(std::min(bytes.size(), kLargestOffer));
  const dtutils::MemoryRegion* const region =
      sending_.find(const_cast<std::byte*>(bytes.data()), bytes.size());
  if (region == nullptr) return Offering::kCopy;
  const std::uint32_t number = number_ % kLastOffer + 1;
  word_->store(OfferWord{number, OfferState::kOffered, 0}.raw());
  asynchronous = asynchronous && guard(bytes);
  if (!asynchronous && !waits) return Offering::kCopy;
  Offer offer{.head = frame_head(FrameKind::kOffer, bytes.size()),
              .address = reinterpret_cast<std::uint64_t>(bytes.data()),
              .rkey = region->rkey(),
              .number = number,
              .spare_address = 0,
              .spare_rkey = 0,
              .reserved = 0};
  if (asynchronous) {
    offer.spare_address = reinterpret_cast<std::uint64_t>(spare_->data());
    offer.spare_rkey = spare_region_->rkey();
  }
  if (!base_.send_whole(std::as_bytes(std::span(&offer, 1)))) {
    if (asynchronous) guard_->release(pages_);
    sending_.let_go();
    return Offering::kLater;
  }
  number_ = number;
  offered_ = bytes.size();
  offer_taken_ = 0;
  guarded_ = asynchronous;
  return asynchronous ? Offering::kAsynchronous : Offering::kMade;
}

OfferWord ZeroCopy::look_at_offer() noexcept {
  const OfferWord word = OfferWord::from(word_->load());
  const bool possible = word.state == OfferState::kOffered || word.state == OfferState::kReading ||
                        (guarded_ && word.state == OfferState::kMoved);
  if (!possible || word.number != number_ || word.taken < offer_taken_ || word.taken > offered_) {
    link().give_up();
    return {number_, OfferState::kOffered, offer_taken_};
  }
  offer_taken_ = word.taken;
  return word;
}

bool ZeroCopy::settled() noexcept {
  static_cast<void>(base_.writable());
  if (offered_ == 0) return true;
  const bool all = look_at_offer().taken == offered_;
  if (!all && !link().broken() && !base_.peer_closed()) return false;
  if (guarded_) {
    guard_->release(pages_);
    if (all) {
      guarded_ = false;
      offered_ = 0;
    }
  }
  return true;
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
    if (word_->compare_exchange(expected,
                                OfferWord{number_, OfferState::kWithdrawn, word.taken}.raw())) {
      break;
    }
    if (word_->broken()) link().give_up();
  }
  sending_.let_go();
  const bool all = offer_taken_ == offered_;
  offered_ = 0;
  if (all) return {offer_taken_, Status::kOk};
  return {offer_taken_, gone || link().broken() ? Status::kBrokenPipe : Status::kTimeout};
}

}  // namespace streams
