// SPDX-License-Identifier: MIT
// Frames as they arrive, and reading what the peer offers.
#include <algorithm>
#include <cstring>

#include "zero_copy.hpp"

namespace streams {
namespace {

constexpr std::size_t kHead = sizeof(std::uint64_t);

}  // namespace

Status ZeroCopy::find_frame() noexcept {
  while (frame_left_in_ == 0 && offer_left_ == 0) {
    if (refused_) return Status::kReset;
    std::uint64_t head = 0;
    std::memcpy(&head, head_.data(), kHead);
    const bool offers =
        head_bytes_ >= kHead && (head & ~kFrameLengthMask) == frame_head(FrameKind::kOffer, 0);
    const std::size_t needed = offers ? sizeof(Offer) : kHead;
    const iovec rest{head_.data() + head_bytes_, needed - head_bytes_};
    const Result result = base_.receive({&rest, 1});
    if (result.bytes == 0) {
      // An end in the middle of a head is none.
      return result.status == Status::kEnd && head_bytes_ != 0 ? Status::kReset : result.status;
    }
    head_bytes_ += result.bytes;
    if (head_bytes_ >= kHead && !accept_head()) {
      refused_ = true;
      link().give_up();
    }
  }
  return Status::kOk;
}

bool ZeroCopy::accept_head() noexcept {
  Offer offer;
  std::memcpy(&offer, head_.data(), sizeof offer);
  const std::uint64_t length = offer.head & kFrameLengthMask;
  const bool offers = offer.head == frame_head(FrameKind::kOffer, length);
  if (length == 0 || (!offers && offer.head != frame_head(FrameKind::kData, length))) return false;
  if (!offers) {
    frame_left_in_ = length;
  } else {
    if (length > kLargestOffer) return false;
    if (head_bytes_ != sizeof(Offer)) return true;
    if (offer.number == 0 || offer.number > kLastOffer) return false;
    offer_ = offer;
    offer_left_ = length;
    offer_read_ = 0;
  }
  head_bytes_ = 0;
  return true;
}

bool ZeroCopy::swap(OfferWord expected, OfferWord desired, OfferWord& found) noexcept {
  const auto into = link().region().local(kOffersAt + offsetof(OfferBoard, answer), kHead);
  const auto target = link().there(kOffersAt + offsetof(OfferBoard, word), kHead);
  if (!base_.complete([&](std::uint64_t id) {
        return link().pair().post_compare_and_swap(into, target, expected.raw(), desired.raw(), id,
                                                   dtutils::kSignaled);
      })) {
    return false;
  }
  found = OfferWord::from(load(offers().answer));
  return true;
}

bool ZeroCopy::read(dtutils::LocalBuffer into, std::uint64_t address, std::uint32_t rkey) noexcept {
  const dtutils::RemoteMemoryLocator from{address + offer_read_, into.length, rkey, 0, 0};
  return base_.complete([&](std::uint64_t id) {
    return link().pair().post_read(into, from, id, dtutils::kSignaled);
  });
}

std::size_t ZeroCopy::read_part(dtutils::LocalBuffer into) noexcept {
  into.length = static_cast<std::uint32_t>(
      std::min<std::uint64_t>({into.length, offer_left_, std::uint64_t{kReadAtOnce}}));
  const auto word = [this](OfferState state, std::uint64_t more = 0) {
    return OfferWord{offer_.number, state, offer_read_ + more};
  };
  // What the read brings is there, and what it read was right, when the swaps before and behind it
  // are done; they are not posted together, since an atomic may pass a read that is late.
  const OfferWord before = word(OfferState::kOffered);
  OfferWord during = word(OfferState::kReading);
  OfferWord found{};
  if (!swap(before, during, found)) return 0;
  bool swapped = found.raw() == before.raw();
  if (swapped) {
    if (!read(into, offer_.address, offer_.rkey) ||
        !swap(during, word(OfferState::kOffered, into.length), found)) {
      return 0;
    }
    swapped = found.raw() == during.raw();
  }
  if (!swapped && found.raw() == word(OfferState::kMoved).raw()) {
    during = found;
    if (!read(into, offer_.spare_address, offer_.spare_rkey) ||
        !swap(during, word(OfferState::kMoved, into.length), found)) {
      return 0;
    }
    swapped = found.raw() == during.raw();
  }
  if (swapped) {
    offer_read_ += into.length;
    offer_left_ -= into.length;
    if (offer_left_ == 0) base_.wake_peer();
    return into.length;
  }
  // An offer that was taken back stays so until there is another one.
  if (found.number == offer_.number && found.raw() != word(OfferState::kWithdrawn).raw()) {
    refused_ = true;
    link().give_up();
  } else {
    offer_left_ = 0;
  }
  return 0;
}

std::size_t ZeroCopy::read_offered(std::span<const iovec> buffers, bool keep) noexcept {
  const auto piece = std::find_if(buffers.begin(), buffers.end(),
                                  [](const iovec& buffer) { return buffer.iov_len != 0; });
  auto* const into = static_cast<std::byte*>(piece->iov_base);
  const std::size_t length = std::min<std::uint64_t>(piece->iov_len, offer_left_);
  if (!keep && length >= kReadAhead) {
    if (const dtutils::MemoryRegion* const region = receiving_.find(into, length)) {
      const std::size_t offset = static_cast<std::size_t>(into - region->data());
      const std::size_t bytes = read_part(region->local(
          offset, static_cast<std::uint32_t>(std::min<std::size_t>(length, kReadAtOnce))));
      receiving_.let_go();
      return bytes;
    }
  }
  ahead_begin_ = 0;
  ahead_end_ = read_part(ahead_region_.local(0, kReadAhead));
  return copy_ahead(buffers, keep);
}

std::size_t ZeroCopy::copy_ahead(std::span<const iovec> buffers, bool keep) noexcept {
  Cursor cursor(buffers);
  const std::size_t bytes = cursor.advance(
      ahead_end_ - ahead_begin_, [&](std::byte* into, std::size_t at, std::size_t length) {
        std::memcpy(into, ahead_.data() + ahead_begin_ + at, length);
      });
  if (!keep) ahead_begin_ += bytes;
  return bytes;
}

Result ZeroCopy::take(std::span<const iovec> buffers, bool keep) noexcept {
  const bool wants = total_of(buffers) != 0;
  for (;;) {
    if (ahead_begin_ != ahead_end_) return {copy_ahead(buffers, keep), Status::kOk};
    const Status status = find_frame();
    if (!wants) return {0, Status::kOk};
    if (status != Status::kOk) return {0, status};
    if (frame_left_in_ != 0) break;
    const std::size_t bytes = read_offered(buffers, keep);
    if (bytes != 0) return {bytes, Status::kOk};
    if (!link().broken()) continue;
    // Who closes has taken back what was not read, and may be gone before this side sees that.
    static_cast<void>(base_.receive_ready());
    if (refused_ || !base_.peer_closed()) return {0, Status::kReset};
    offer_left_ = 0;
  }
  const Result result =
      keep ? base_.peek(buffers, frame_left_in_) : base_.receive(buffers, frame_left_in_);
  if (!keep) frame_left_in_ -= result.bytes;
  return result;
}

std::size_t ZeroCopy::readable() noexcept {
  if (ahead_begin_ != ahead_end_) return ahead_end_ - ahead_begin_;
  if (find_frame() != Status::kOk) return 0;
  if (offer_left_ != 0) return offer_left_;
  return std::min<std::uint64_t>(base_.readable(), frame_left_in_);
}

bool ZeroCopy::receive_ready() noexcept {
  if (ahead_begin_ != ahead_end_) return true;
  const Status status = find_frame();
  return status != Status::kOk ? status != Status::kWouldBlock
                               : offer_left_ != 0 || base_.receive_ready();
}

}  // namespace streams
