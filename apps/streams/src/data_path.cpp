// SPDX-License-Identifier: MIT
// The data path of a stream: packing, looking at messages, and giving space back.
#include <algorithm>
#include <array>
#include <cstring>

#include "message.hpp"
#include "streams/stream.hpp"

namespace streams {
namespace {

using dtutils::PostResult;

/// Walks through the bytes of several buffers.
class Cursor {
 public:
  explicit Cursor(std::span<const iovec> buffers) noexcept : buffers_(buffers) {}

  /// Calls `step(address, length)` for the pieces of the next `limit` bytes at most; returns how
  /// many there were.
  template <class Step>
  std::size_t advance(std::size_t limit, Step step) noexcept {
    std::size_t done = 0;
    while (done < limit && index_ < buffers_.size()) {
      const iovec& buffer = buffers_[index_];
      const std::size_t piece = std::min(limit - done, buffer.iov_len - offset_);
      if (piece != 0) step(static_cast<std::byte*>(buffer.iov_base) + offset_, done, piece);
      done += piece;
      offset_ += piece;
      if (offset_ == buffer.iov_len) {
        ++index_;
        offset_ = 0;
      }
    }
    return done;
  }

 private:
  std::span<const iovec> buffers_;
  std::size_t index_ = 0;
  std::size_t offset_ = 0;
};

bool empty(std::span<const iovec> buffers) noexcept {
  return std::ranges::all_of(buffers, [](const iovec& buffer) { return buffer.iov_len == 0; });
}

}  // namespace

Result Stream::try_send(std::span<const iovec> buffers) noexcept {
  progress();
  if (broken_ || peer_closed_ || end_wanted_) return {0, Status::kBrokenPipe};
  if (empty(buffers)) return {0, Status::kOk};
  Cursor cursor(buffers);
  std::size_t done = 0;
  for (;;) {
    const std::size_t offset = sent_ % kRing;
    std::byte* const staging = region_.data() + offset;
    const std::size_t room = std::min<std::size_t>(space(), kRing - offset);
    const std::size_t bytes =
        cursor.advance(room, [&](const std::byte* from, std::size_t at, std::size_t length) {
          std::memcpy(staging + at, from, length);
        });
    if (bytes == 0) return {done, done == 0 ? Status::kWouldBlock : Status::kOk};
    const auto length = static_cast<std::uint32_t>(bytes);
    const unsigned flags = next_flags(sent_ + bytes - signaled_ >= kReturnBytes);
    const PostResult posted = pair_.post_write_with_immediate(
        region_.local(offset, length), ring_there_.part(offset, length),
        message(MessageKind::kData, length), sent_ + bytes, flags);
    if (!count_post(posted, flags)) {
      const Status status = broken_ ? Status::kBrokenPipe : Status::kWouldBlock;
      return {done, done == 0 ? status : Status::kOk};
    }
    sent_ += bytes;
    if ((flags & dtutils::kSignaled) != 0) signaled_ = sent_;
    ++messages_there_;
    done += bytes;
  }
}

Result Stream::try_send(std::span<const std::byte> bytes) noexcept {
  const iovec buffer{const_cast<std::byte*>(bytes.data()), bytes.size()};
  return try_send(std::span(&buffer, 1));
}

Result Stream::copy_out(std::span<const iovec> buffers) noexcept {
  progress();
  if (empty(buffers)) return {0, Status::kOk};
  if (arrived_ == taken_) {
    if (peer_reset_) return {0, Status::kReset};
    if (peer_ended_) return {0, Status::kEnd};
    return {0, flushed_ ? Status::kReset : Status::kWouldBlock};
  }
  const std::byte* const ring = region_.data() + kRing;
  const std::uint64_t begin = taken_;
  Cursor cursor(buffers);
  const std::size_t bytes =
      cursor.advance(arrived_ - taken_, [&](std::byte* into, std::size_t at, std::size_t length) {
        const std::size_t offset = (begin + at) % kRing;
        const std::size_t first = std::min<std::size_t>(length, kRing - offset);
        std::memcpy(into, ring + offset, first);
        std::memcpy(into + first, ring, length - first);
      });
  return {bytes, Status::kOk};
}

Result Stream::try_receive(std::span<const iovec> buffers) noexcept {
  const Result result = copy_out(buffers);
  taken_ += result.bytes;
  return_space();
  return result;
}

Result Stream::try_receive(std::span<std::byte> into) noexcept {
  const iovec buffer{into.data(), into.size()};
  return try_receive(std::span(&buffer, 1));
}

Result Stream::try_peek(std::span<std::byte> into) noexcept {
  const iovec buffer{into.data(), into.size()};
  return copy_out(std::span(&buffer, 1));
}

std::size_t Stream::readable() noexcept {
  progress();
  return arrived_ - taken_;
}

std::size_t Stream::writable() noexcept {
  progress();
  return space();
}

std::size_t Stream::space() const noexcept {
  if (broken_ || peer_closed_ || end_wanted_ || messages_there_ == kMessages) return 0;
  return kRing - (sent_ - std::min(completed_, taken_there_));
}

bool Stream::receive_ready() noexcept {
  return readable() != 0 || peer_ended_ || peer_reset_ || flushed_;
}

bool Stream::send_ready() noexcept {
  return writable() != 0 || broken_ || peer_closed_ || end_wanted_;
}

void Stream::progress() noexcept {
  poll_receives();
  poll_sends();
  return_space();
  send_end();
}

void Stream::poll_receives() noexcept {
  std::array<ibv_wc, 16> completions;
  for (;;) {
    const int count = receives_.poll(completions);
    if (count < 0) broken_ = flushed_ = true;
    if (count <= 0) return;
    for (const ibv_wc& completion : std::span(completions).first(static_cast<unsigned>(count))) {
      if (completion.status != IBV_WC_SUCCESS) {
        broken_ = flushed_ = true;
        continue;
      }
      if (pair_.post_receive({}, 0) != PostResult::kOk) broken_ = true;
      on_message(dtutils::immediate_of(completion));
    }
  }
}

void Stream::on_message(std::uint32_t immediate) noexcept {
  const std::uint32_t content = immediate & kContentMask;
  switch (static_cast<MessageKind>(immediate >> 30)) {
    case MessageKind::kData:
      // More than there is space for: the peer does not keep to the protocol.
      if (content > kRing - (arrived_ - taken_)) {
        broken_ = flushed_ = true;
        return;
      }
      arrived_ += content;
      ++messages_;
      return;
    case MessageKind::kReturn: {
      const std::uint32_t bytes = content & kReturnedBytesMask;
      const std::uint32_t messages = content >> kReturnedMessagesShift;
      if (bytes > sent_ - taken_there_ || messages > messages_there_) {
        broken_ = flushed_ = true;
        return;
      }
      taken_there_ += bytes;
      messages_there_ -= messages;
      return;
    }
    case MessageKind::kEnd:
      peer_ended_ = true;
      return;
    case MessageKind::kClosed:
      peer_ended_ = peer_closed_ = true;
      peer_reset_ = peer_reset_ || (content & 1) != 0;
      return;
  }
}

void Stream::poll_sends() noexcept {
  std::array<ibv_wc, 16> completions;
  for (;;) {
    const int count = sends_.poll(completions);
    if (count < 0) broken_ = true;
    if (count <= 0) return;
    for (const ibv_wc& completion : std::span(completions).first(static_cast<unsigned>(count))) {
      if (completion.status != IBV_WC_SUCCESS) {
        broken_ = true;
      } else {
        completed_ = completion.wr_id;
        ++signals_seen_;
      }
    }
  }
}

void Stream::return_space() noexcept {
  const std::uint64_t bytes = taken_ - returned_;
  if (bytes < kReturnBytes && messages_ < kReturnMessages) return;
  if (broken_ || peer_closed_) return;
  const std::uint32_t content =
      messages_ << kReturnedMessagesShift | static_cast<std::uint32_t>(bytes);
  if (post_control(message(MessageKind::kReturn, content)) != PostResult::kOk) return;
  returned_ = taken_;
  messages_ = 0;
}

void Stream::send_end() noexcept {
  if (!end_wanted_ || end_sent_ || broken_) return;
  end_sent_ = post_control(message(MessageKind::kEnd, 0)) == PostResult::kOk;
}

PostResult Stream::post_control(std::uint32_t immediate) noexcept {
  const unsigned flags = next_flags(false);
  const PostResult posted = pair_.post_send_with_immediate({}, immediate, sent_, flags);
  if (count_post(posted, flags) && (flags & dtutils::kSignaled) != 0) signaled_ = sent_;
  return posted;
}

unsigned Stream::next_flags(bool must) const noexcept {
  return must || unsignaled_ + 1 >= kSignalInterval ? dtutils::kSignaled : dtutils::kUnsignaled;
}

bool Stream::count_post(PostResult posted, unsigned flags) noexcept {
  if (posted == PostResult::kBroken || posted == PostResult::kInvalid) broken_ = true;
  if (posted != PostResult::kOk) return false;
  if ((flags & dtutils::kSignaled) != 0) {
    unsignaled_ = 0;
    ++signals_posted_;
  } else {
    ++unsignaled_;
  }
  return true;
}

}  // namespace streams
