// SPDX-License-Identifier: MIT
// How a zero-copy stream begins and ends, and the frames of bytes that it copies.
#include "zero_copy.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace streams {

ZeroCopy::ZeroCopy(dtutils::ProtectionDomain& domain, const StreamOptions& options)
    : base_(domain, {options.ring, options.largest_ring}, kUsefulSpace),
      sending_(domain, IBV_ACCESS_REMOTE_READ),
      receiving_(domain, IBV_ACCESS_LOCAL_WRITE),
      ahead_(kReadAhead, dtutils::PageKind::kSmall, -1),
      ahead_region_(domain, ahead_.data(), ahead_.size(), IBV_ACCESS_LOCAL_WRITE) {
  new (&offers()) OfferBoard{};
  if (OwnWord::possible(domain.device())) {
    word_.emplace(domain, link().region(), offers().word, offers().own_answer,
                  OwnWord::needs_device(domain.device()));
  }
  if (!options.asynchronous || !link().on_shm()) return;
  guard_ = PageGuard::shared(options.protection);
  if (guard_ == nullptr) return;
  spare_.emplace(kLargestAsynchronous, dtutils::PageKind::kSmall, -1);
  spare_region_.emplace(domain, spare_->data(), spare_->size(), IBV_ACCESS_REMOTE_READ);
}

ZeroCopy::~ZeroCopy() {
  if (guarded_) guard_->release(pages_);
}

Introduction ZeroCopy::introduction() const {
  Introduction mine = base_.introduction();
  mine.flow = static_cast<std::uint32_t>(FlowControl::kZeroCopy);
  return mine;
}

bool ZeroCopy::say_closed() noexcept {
  // Who has closed has nothing left to be read.
  if (!settled()) return false;
  base_.keep_unread(frame_left_in_ != 0 || offer_left_ != 0 || ahead_begin_ != ahead_end_);
  return base_.say_closed();
}

std::size_t ZeroCopy::writable() noexcept {
  const std::size_t space = base_.writable();
  if (frame_left_out_ != 0) return std::min<std::uint64_t>(space, frame_left_out_);
  return space > sizeof(std::uint64_t) ? space - sizeof(std::uint64_t) : 0;
}

Result ZeroCopy::send(std::span<const iovec> buffers) noexcept {
  const std::size_t wanted = total_of(buffers);
  if (wanted == 0 || frame_left_out_ != 0) {
    const Result result = base_.send(buffers, std::max<std::uint64_t>(frame_left_out_, 1));
    frame_left_out_ -= result.bytes;
    return result;
  }
  std::array<std::byte, Packetized::kLongestWhole> frame;
  constexpr std::size_t kHead = sizeof(std::uint64_t);
  std::uint64_t head = frame_head(FrameKind::kData, wanted);
  std::memcpy(frame.data(), &head, kHead);
  if (wanted <= frame.size() - kHead) {
    Cursor cursor(buffers);
    cursor.advance(wanted, [&](const std::byte* from, std::size_t at, std::size_t length) {
      std::memcpy(frame.data() + kHead + at, from, length);
    });
    if (base_.send_whole(std::span(frame).first(kHead + wanted))) return {wanted, Status::kOk};
  }
  const std::size_t bytes = std::min(wanted, writable());
  if (bytes != 0) {
    head = frame_head(FrameKind::kData, bytes);
    std::memcpy(frame.data(), &head, kHead);
    if (base_.send_whole(std::span(frame).first(kHead))) {
      frame_left_out_ = bytes;
      return send(buffers);
    }
  }
  return {0, base_.cannot_send() ? Status::kBrokenPipe : Status::kWouldBlock};
}

}  // namespace streams
