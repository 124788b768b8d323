// SPDX-License-Identifier: MIT
// Messages into posted buffers, and credits back.
#include "credits.hpp"

#include <algorithm>
#include <cstring>

#include "dtutils/error.hpp"

namespace streams {
namespace {

using dtutils::PostResult;

constexpr std::uint32_t kNumberMask = (std::uint32_t{1} << 30) - 1;

}  // namespace

Credits::Credits(dtutils::ProtectionDomain& domain)
    // The buffers that are posted, and those of the messages that are sent.
    : link_(domain, {.memory = std::size_t{kBuffers + kCreditMessages} * kCreditBuffer,
                     .receives = kBuffers,
                     .inline_bytes = 0}) {}

void Credits::meet(const Introduction& peer) {
  link_.connect(peer);
  for (std::uint32_t i = 0; i < kBuffers; ++i) post_buffer(i);
  if (link_.broken()) {
    throw dtutils::Error("stream", "the peer left while it connected", "connect again");
  }
}

void Credits::post_buffer(std::uint64_t buffer) noexcept {
  const dtutils::LocalBuffer into = link_.region().local(buffer * kCreditBuffer, kCreditBuffer);
  if (link_.pair().post_receive(into, buffer) != PostResult::kOk) link_.give_up();
}

void Credits::poll_sends() noexcept {
  while (link_.poll_sends([this](std::uint64_t sent) { completed_ = sent; })) {
  }
}

void Credits::poll() noexcept {
  poll_sends();
  // Before what it has sent is taken.
  link_.look_for_peer();
  while (link_.poll_receives([this](const ibv_wc& completion) { on_message(completion); })) {
  }
  if (link_.broken() || peer_closed_) return;
  if (owed_ >= kCreditMessages / 2 && post({}, Kind::kReturn << kKindShift | owed_, false))
    owed_ = 0;
  if (end_wanted_ && !end_sent_) {
    const std::uint32_t number = handed_over_ ? 1 : 0;
    end_sent_ = post({}, Kind::kEnd << kKindShift | number, false, kRoomForEnd);
  }
}

void Credits::on_message(const ibv_wc& completion) noexcept {
  const std::uint32_t immediate = dtutils::immediate_of(completion);
  const std::uint32_t number = immediate & kNumberMask;
  switch (static_cast<Kind>(immediate >> kKindShift)) {
    case kData:
      if (arrived_ - taken_ == kCreditMessages) return link_.give_up();
      messages_[arrived_++ % kCreditMessages] = {static_cast<std::uint32_t>(completion.wr_id),
                                                 completion.byte_len};
      readable_ += completion.byte_len;
      return;
    case kReturn:
      if (number > sent_ - returned_there_) return link_.give_up();
      returned_there_ += number;
      break;
    case kEnd:
      peer_ended_ = true;
      peer_handed_over_ = number != 0;
      break;
    case kClosed:
      peer_ended_ = peer_closed_ = true;
      peer_reset_ = number != 0;
      break;
  }
  post_buffer(completion.wr_id);
}

bool Credits::cannot_send() const noexcept { return link_.broken() || peer_closed_ || end_wanted_; }

std::uint32_t Credits::usable() const noexcept {
  const std::uint64_t under_way = sent_ - std::min(completed_, returned_there_);
  return kCreditMessages - static_cast<std::uint32_t>(under_way);
}

bool Credits::post(dtutils::LocalBuffer from, std::uint32_t immediate, bool must_signal,
                   std::uint32_t room) noexcept {
  if (!link_.has_room(room)) poll_sends();
  if (!link_.has_room(room)) return false;
  const unsigned flags = link_.flags(must_signal);
  return link_.count(link_.pair().post_send_with_immediate(
                         from, immediate, sent_ + (from.length != 0 ? 1 : 0), flags),
                     flags);
}

Result Credits::send(std::span<const iovec> buffers) noexcept {
  if (!has_space() || sent_ % kSignalInterval == 0) poll();
  if (cannot_send()) return {0, Status::kBrokenPipe};
  const std::size_t wanted = total_of(buffers);
  Cursor cursor(buffers);
  std::size_t done = 0;
  while (done < wanted) {
    if (!has_space()) poll();
    if (!has_space()) break;
    const std::size_t at = (kBuffers + sent_ % kCreditMessages) * kCreditBuffer;
    const std::size_t length = std::min<std::size_t>(wanted - done, kCreditBuffer);
    cursor.advance(length, [&](const std::byte* from, std::size_t offset, std::size_t piece) {
      std::memcpy(link_.data() + at + offset, from, piece);
    });
    const auto from = link_.region().local(at, static_cast<std::uint32_t>(length));
    if (!post(from, Kind::kData << kKindShift, sent_ % (kCreditMessages / 4) == 0)) break;
    ++sent_;
    done += length;
  }
  if (done != 0 || wanted == 0) return {done, Status::kOk};
  return {0, link_.broken() ? Status::kBrokenPipe : Status::kWouldBlock};
}

std::size_t Credits::copy_out(std::span<const iovec> buffers, bool take) noexcept {
  Cursor cursor(buffers);
  std::size_t total = 0;
  std::uint32_t offset = offset_;
  for (std::uint64_t at = taken_; at != arrived_; ++at) {
    const Message message = messages_[at % kCreditMessages];
    const std::byte* const from =
        link_.data() + std::size_t{message.buffer} * kCreditBuffer + offset;
    const std::size_t bytes = cursor.advance(
        message.length - offset, [&](std::byte* into, std::size_t done, std::size_t piece) {
          std::memcpy(into, from + done, piece);
        });
    total += bytes;
    if (bytes != message.length - offset) {
      if (take) offset_ = offset + static_cast<std::uint32_t>(bytes);
      break;
    }
    offset = 0;
    if (!take) continue;
    offset_ = 0;
    ++taken_;
    ++owed_;
    post_buffer(message.buffer);
  }
  if (take) readable_ -= total;
  return total;
}

Result Credits::take(std::span<const iovec> buffers, bool keep) noexcept {
  poll();
  if (total_of(buffers) == 0) return {0, Status::kOk};
  if (readable_ == 0) {
    if (peer_reset_) return {0, Status::kReset};
    if (peer_ended_) return {0, Status::kEnd};
    return {0, link_.flushed() ? Status::kReset : Status::kWouldBlock};
  }
  const std::size_t bytes = copy_out(buffers, !keep);
  if (owed_ >= kCreditMessages / 2) {
    link_.await_room(1 + kRoomForEnd, [this] { poll_sends(); });
    poll();
  }
  return {bytes, Status::kOk};
}

Result Credits::receive(std::span<const iovec> buffers) noexcept { return take(buffers, false); }
Result Credits::peek(std::span<const iovec> buffers) noexcept { return take(buffers, true); }

std::size_t Credits::readable() noexcept {
  poll();
  return readable_;
}

std::size_t Credits::writable() noexcept {
  poll();
  return cannot_send() || !has_space() ? 0 : std::size_t{usable()} * kCreditBuffer;
}

bool Credits::receive_ready() noexcept { return readable() != 0 || peer_ended_ || link_.flushed(); }

bool Credits::send_ready() noexcept { return writable() != 0 || cannot_send(); }

void Credits::finish_sending(bool hands_over) noexcept {
  if (!end_wanted_) handed_over_ = hands_over;
  end_wanted_ = true;
  poll();
}

void Credits::arm() noexcept {
  link_.drain_events();
  link_.arm();
  poll();
}

bool Credits::say_closed() noexcept {
  return post({}, Kind::kClosed << kKindShift | (readable_ != 0 ? 1 : 0), true, kRoomForEnd);
}

bool Credits::delivered() noexcept {
  poll_sends();
  return link_.broken() || link_.idle();
}

}  // namespace streams
